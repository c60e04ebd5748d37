package ir

import (
	"strconv"
	"strings"
)

// FilterGeneration is the version number of the HTTP filter chain of listeners. A release of gatefold that
// changes the chain adds one: see docs/design/xds.md#a-table-is-for-one-chain-of-filters.
const FilterGeneration = 2

// ClosingGeneration is the first FilterGeneration whose listeners close the HTTP/1.1 connections of a closed table:
// see xds.ClosedTables.
const ClosingGeneration = 2

// generationMark separates the two parts of a RouteConfiguration's name: the base name and the generation of
// the HTTP filter chain. It begins with a slash, because no hostname contains one. So the mark cannot be part
// of a hostname in the base name.
const generationMark = "/filters-"

// TableName returns the name of the RouteConfiguration for a listener. The parameter base is the name without a
// generation. The parameter generation is the version number of the listener's HTTP filter chain (see
// FilterGeneration). For generation 0, TableName returns base.
func TableName(base string, generation int) string {
	if generation == 0 {
		return base
	}
	return base + generationMark + strconv.Itoa(generation)
}

// SplitTableName splits a name that TableName has returned into the arguments of TableName. For any other name
// it returns the name and 0.
func SplitTableName(name string) (base string, generation int) {
	at := strings.LastIndex(name, generationMark)
	if at < 0 {
		return name, 0
	}
	generation, err := strconv.Atoi(name[at+len(generationMark):])
	if err != nil || generation < 1 {
		return name, 0
	}
	return name[:at], generation
}
