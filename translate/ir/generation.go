package ir

import (
	"strconv"
	"strings"
)

// FilterGeneration numbers the chain of HTTP filters that listeners have. It is one more for each release
// of gatefold whose chain is another one: see docs/design/xds.md#a-table-is-for-one-chain-of-filters.
const FilterGeneration = 1

// generationMark is between the name of a table and its generation. No host name has a slash.
const generationMark = "/filters-"

// TableName returns the name of the RouteConfiguration that a listener with filters of a generation asks
// for. Generation 0 has no number.
func TableName(base string, generation int) string {
	if generation == 0 {
		return base
	}
	return base + generationMark + strconv.Itoa(generation)
}

// SplitTableName returns the arguments with which TableName returns name.
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
