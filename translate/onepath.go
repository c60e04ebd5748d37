package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxOnePath is the largest number of rules with the same path that a host may have without a warning. Envoy tries
// such rules one by one (docs/design/promises.md).
const maxOnePath = 100

// onePath is a group of more than maxOnePath rules of a host. The paths of these rules begin with the same text
// (Prefix, see xds.Prefix).
type onePath struct {
	Rules  int // the number of rules in the group
	Prefix string
	// First is the first rule of the group over the limit: maxOnePath rules of the group come before it.
	First *entry
}

// onePaths returns the groups of more than maxOnePath rules whose paths begin with the same text. It must be called
// only if t.tree is set. A table without a tree has too few rules for such a group.
func (t table) onePaths() (paths []onePath) {
	for _, entries := range t.tree.Crowds(maxOnePath) {
		first := entries[maxOnePath]
		paths = append(paths, onePath{len(entries), xds.Prefix(&first.Rule.Match), first})
	}
	return paths
}

// problem returns a warning that the host with this domain has too many rules with one path. The warning is at the
// rule path.First.
func (path onePath) problem(domain string) manifest.Problem {
	return manifest.Problem{
		Code: "ManyRulesOfOnePath", Severity: manifest.Warning, Object: path.First.Rule.Source.Key, Field: ruleField(path.First.Rule),
		Message: fmt.Sprintf("host %q has %d rules whose paths begin with %q and differ only by what is not plain text there, by method, headers or query: Envoy tries them one by one",
			domain, path.Rules, path.Prefix),
		Hint: fmt.Sprintf("give them different paths; up to %d for the same path are no burden", maxOnePath),
	}
}
