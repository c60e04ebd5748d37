package explain

import (
	"iter"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// maxAncestors is the highest number of "/" in a path for which hostIndex.candidates looks up rules. For a path with
// more of them, hostIndex.candidates returns all rules of the virtual host.
const maxAncestors = 100

// Index answers many queries about one View faster than the function Request: it looks up rules by their path,
// and does not compare all rules of the virtual host. Only one goroutine at a time may use it.
type Index struct {
	view  *ir.View
	hosts map[*ir.HostView]*hostIndex
}

// NewIndex returns an Index of a View. It indexes the rules of a virtual host at the first query for the host.
func NewIndex(view *ir.View) *Index { return &Index{view: view, hosts: map[*ir.HostView]*hostIndex{}} }

// Request returns the same Answer as the package's function Request, but faster (see Index). Only Passed may be
// smaller: it does not count the rules that the lookup by path skips.
func (x *Index) Request(query Query) Answer {
	return ask(x.view, query, func(host *ir.HostView, path string) iter.Seq[*ir.Rule] {
		if x.hosts[host] == nil {
			x.hosts[host] = indexHost(host)
		}
		return x.hosts[host].candidates(path)
	})
}

// hostIndex has the rules of a virtual host in order, indexed by path.
type hostIndex struct {
	rules []*ir.Rule
	// These fields contain indexes in rules. The field exact has the rules for a whole path, by this path. The
	// field below has the rules for a path prefix, by the prefix without its last "/". The field others has the
	// rules with a regular expression for the path.
	exact, below map[string][]int
	others       []int
}

// indexHost returns the index of a virtual host's rules.
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

// candidates returns all rules that match a path, in order. The result can also have rules that do not match the
// path.
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
