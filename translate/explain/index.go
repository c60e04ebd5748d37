package explain

import (
	"iter"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// maxAncestors bounds the prefixes of a path that are looked up; for paths with more, all rules are
// compared.
const maxAncestors = 100

// Index answers many questions about one View. It looks up rules by their path, while Request
// compares all rules of the host. It must not be used by several goroutines.
type Index struct {
	view  *ir.View
	hosts map[*ir.HostView]*hostIndex
}

// NewIndex returns an Index of a View. It indexes the rules of a host at the first question about
// it.
func NewIndex(view *ir.View) *Index { return &Index{view: view, hosts: map[*ir.HostView]*hostIndex{}} }

// Request returns the Answer that the function Request returns, except for Passed: rules whose path
// differs are not counted.
func (x *Index) Request(query Query) Answer {
	return ask(x.view, query, func(host *ir.HostView, path string) iter.Seq[*ir.Rule] {
		if x.hosts[host] == nil {
			x.hosts[host] = indexHost(host)
		}
		return x.hosts[host].candidates(path)
	})
}

// hostIndex has the rules of a host in order, indexed by path.
type hostIndex struct {
	rules []*ir.Rule
	// exact are the rules for a whole path, and below those for a prefix, without its last "/".
	exact, below map[string][]int
	others       []int
}

func indexHost(host *ir.HostView) *hostIndex {
	h := &hostIndex{exact: map[string][]int{}, below: map[string][]int{}}
	for rule := range host.Rules {
		i := len(h.rules)
		h.rules = append(h.rules, rule)
		switch path := rule.Match.Path; path.Kind {
		case ir.PathExact:
			h.exact[path.Value] = append(h.exact[path.Value], i)
		case ir.PathRegex:
			h.others = append(h.others, i)
		default:
			prefix := strings.TrimSuffix(path.Value, "/")
			h.below[prefix] = append(h.below[prefix], i)
		}
	}
	return h
}

// candidates returns the rules that may match a path, in order.
func (h *hostIndex) candidates(path string) iter.Seq[*ir.Rule] {
	if strings.Count(path, "/") > maxAncestors {
		return slices.Values(h.rules)
	}
	found := slices.Concat(h.others, h.exact[path], h.below[path])
	for i := range path {
		if path[i] == '/' {
			found = append(found, h.below[path[:i]]...)
		}
	}
	slices.Sort(found)
	return func(yield func(*ir.Rule) bool) {
		for _, i := range found {
			if !yield(h.rules[i]) {
				return
			}
		}
	}
}
