package ir

import (
	"strconv"
	"strings"
)

// FilterGeneration is the number of the chain of HTTP filters that listeners have. A release of gatefold that
// changes the chain adds one: see docs/design/xds.md#a-table-is-for-one-chain-of-filters.
const FilterGeneration = 1

// generationMark is between the base and the generation in the name of a RouteConfiguration. A hostname
// contains no slash.
const generationMark = "/filters-"

// TableName returns the name of the RouteConfiguration for a listener whose filter chain has a generation. For
// generation 0 the name is base. For other generations it is base with the generation.
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
