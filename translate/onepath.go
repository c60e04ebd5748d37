package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxOnePath is how many rules of one path a host may have without a warning:
// Envoy tries them one by one (docs/design/promises.md).
const maxOnePath = 100

// onePath is a group of rules of a host with the same beginning of the path, if they are more than
// maxOnePath.
type onePath struct {
	Rules  int
	Prefix string
	// First is the first rule beyond maxOnePath.
	First *entry
}

// onePaths returns the groups of more than maxOnePath rules. Only tables with a tree are long
// enough to have one.
func (t table) onePaths() (paths []onePath) {
	for _, entries := range t.tree.Crowds(maxOnePath) {
		first := entries[maxOnePath]
		paths = append(paths, onePath{len(entries), xds.Prefix(&first.Rule.Match), first})
	}
	return paths
}

// problem returns the warning, at the first rule beyond the limit.
func (path onePath) problem(domain string) manifest.Problem {
	return manifest.Problem{
		Code: "ManyRulesOfOnePath", Severity: manifest.Warning, Object: path.First.Rule.Source.Key, Field: ruleField(path.First.Rule),
		Message: fmt.Sprintf("host %q has %d rules whose paths begin with %q and differ only by what is not plain text there, by method, headers or query: Envoy tries them one by one",
			domain, path.Rules, path.Prefix),
		Hint: fmt.Sprintf("give them different paths; up to %d for the same path are no burden", maxOnePath),
	}
}
