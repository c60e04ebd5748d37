package xds

import "github.com/gatefold/gatefold/translate/ir"

// TableForGeneration returns the table as a listener gets it whose filters are of an earlier generation, under the
// name that it asks for: what the table configures for a filter that the listener lacks answers 500. Envoy
// would ignore the configuration, and let requests pass.
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
