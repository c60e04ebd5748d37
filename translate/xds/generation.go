package xds

import "github.com/gatefold/gatefold/translate/ir"

// TableForGeneration returns a copy of a RouteConfiguration for listeners whose filter chain has an earlier
// generation. The result has the name that these listeners request. If a Part needs a filter that these
// listeners lack, the Part answers 500. Otherwise Envoy would ignore the configuration of the filter and let
// requests pass.
func TableForGeneration(table *Resource, generation int) Resource {
	var lacking []feature
	for _, f := range configurable() {
		if f.since > generation {
			lacking = append(lacking, feature{filter: f.name})
		}
	}
	faults := map[Part]Fault{}
	for _, lack := range lacksOf(table.Body, lacking) {
		faults[lack.Part] = lack.Fault
	}
	base, _ := ir.SplitTableName(table.Name)
	renamed := *table
	renamed.Name = ir.TableName(base, generation)
	out, _ := Without(&renamed, faults)
	return out
}
