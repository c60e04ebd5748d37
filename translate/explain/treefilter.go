package explain

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// TreeFilter selects parts of a tree. A field that is "" selects everything.
type TreeFilter struct {
	// Host selects the virtual hosts that serve this host: on each port the most specific one.
	Host string
	// Path selects the rules that take this path, and the matches that hand it on.
	Path string
	// Namespace selects the routes of a namespace, with all below them and the way to them.
	Namespace string
	// Route is "namespace/name"; it selects as Namespace does.
	Route string
}

// The names of the parts of a TreeFilter in a query.
const treeHost, treePath, treeNamespace, treeRoute = "host", "path", "namespace", "route"

// ReadTreeFilter reads a filter from a query that Query wrote. The error names the value that is
// wrong.
func ReadTreeFilter(query url.Values) (TreeFilter, error) {
	f := TreeFilter{strings.ToLower(query.Get(treeHost)), query.Get(treePath), query.Get(treeNamespace), query.Get(treeRoute)}
	if f.Path != "" && !strings.HasPrefix(f.Path, "/") {
		return f, fmt.Errorf("path %q: a path begins with /", f.Path)
	}
	if namespace, name, ok := strings.Cut(f.Route, "/"); f.Route != "" && (!ok || namespace == "" || name == "") {
		return f, fmt.Errorf("route %q: want NAMESPACE/NAME", f.Route)
	}
	return f, nil
}

// Query writes the filter as a query.
func (f TreeFilter) Query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{treeHost: f.Host, treePath: f.Path, treeNamespace: f.Namespace, treeRoute: f.Route} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// apply removes the nodes that the filter does not select.
func (f TreeFilter) apply(nodes []*TreeNode) []*TreeNode {
	if f == (TreeFilter{}) {
		return nodes
	}
	request := &request{path: f.Path, effort: newEffort()}
	return f.keep(nodes, request, f.Namespace == "" && f.Route == "")
}

// keep returns the nodes that are selected, or that have a selected node below. within is true
// below a selected route.
func (f TreeFilter) keep(nodes []*TreeNode, request *request, within bool) (out []*TreeNode) {
	for _, n := range nodes {
		selected := within || f.selects(n)
		if !f.takes(n, request) {
			continue
		}
		if n.Kind == PortNode {
			n.Below = f.hosts(n.Below)
			if f.Path != "" {
				n.Below = slices.DeleteFunc(n.Below, func(below *TreeNode) bool { return below.Kind == NotAcceptedNode })
			}
		}
		leaf := len(n.Below) == 0
		n.Below = f.keep(n.Below, request, selected)
		if len(n.Below) > 0 || selected && (leaf && f.showsAlone(n) || n.Kind == PointNode) {
			out = append(out, n)
		}
	}
	return out
}

// selects reports whether a node is a route that the filter selects.
func (f TreeFilter) selects(n *TreeNode) bool {
	key := n.field.Object
	return (n.Kind == RouteNode || n.Kind == NotAcceptedNode) && (f.Route == "" || isRoute(key)) &&
		(f.Namespace == "" || key.Namespace == f.Namespace) && (f.Route == "" || key.Namespace+"/"+key.Name == f.Route)
}

// takes reports whether requests with the path may reach the node.
func (f TreeFilter) takes(n *TreeNode, request *request) bool {
	switch {
	case n.Kind == BrokenNode || n.Kind == UnservedNode:
		return f.Host == "" && f.Path == ""
	case f.Path == "":
		return true
	case n.delegation != nil:
		return request.matchesPath(n.delegation.Match.Path)
	case n.path != nil:
		return request.matchesPath(*n.path)
	}
	return true
}

// showsAlone reports whether a node is worth showing without nodes below it.
func (f TreeFilter) showsAlone(n *TreeNode) bool {
	return f.Path == "" && (f.Host == "" || n.Kind != PortNode) || n.path != nil || n.Kind == NotAcceptedNode
}

// hosts returns the nodes of a port that serve the host.
func (f TreeFilter) hosts(nodes []*TreeNode) []*TreeNode {
	if f.Host == "" {
		return nodes
	}
	best := ""
	for _, n := range nodes {
		for _, domain := range n.domains {
			if covers(domain, f.Host) && moreSpecific(domain, best) {
				best = domain
			}
		}
	}
	return slices.DeleteFunc(nodes, func(n *TreeNode) bool { return best == "" || !slices.Contains(n.domains, best) })
}
