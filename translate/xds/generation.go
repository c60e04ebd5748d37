package xds

import "github.com/gatefold/gatefold/translate/ir"

// TableForGeneration returns a copy of a RouteConfiguration for listeners with an earlier generation (version
// number) of the HTTP filter chain. The copy has the name that these listeners request. A route or virtual host
// that needs a filter which these listeners lack answers 500 in the copy. If it did not, Envoy would ignore the
// configuration of the filter and let requests pass.
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
