package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxOnePath is how many rules of one path a host may have without a warning:
// Envoy tries them one by one (docs/design/promises.md).
const maxOnePath = 100

// onePath is the rules of a host whose paths begin with the same text, where they are
// more than maxOnePath.
type onePath struct {
	Rules  int
	Prefix string
	// First is the first rule beyond maxOnePath.
	First *entry
}

// onePaths finds them. Only tables with a tree are long enough.
func (t table) onePaths() (paths []onePath) {
	for _, entries := range t.tree.Crowds(maxOnePath) {
		first := entries[maxOnePath]
		paths = append(paths, onePath{len(entries), xds.Prefix(&first.Rule.Match), first})
	}
	return paths
}

// problem warns of them, at the rule that is one too many.
func (path onePath) problem(domain string) manifest.Problem {
	return manifest.Problem{
		Code: "ManyRulesOfOnePath", Severity: manifest.Warning, Object: path.First.Rule.Source.Key, Field: ruleField(path.First.Rule),
		Message: fmt.Sprintf("host %q has %d rules whose paths begin with %q and differ only by what is not plain text there, by method, headers or query: Envoy tries them one by one",
			domain, path.Rules, path.Prefix),
		Hint: fmt.Sprintf("give them different paths; up to %d for the same path are no burden", maxOnePath),
	}
}
