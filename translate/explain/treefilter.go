package explain

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/route"
)

// TreeFilter selects nodes of a tree. A field that is "" selects everything.
type TreeFilter struct {
	// Host selects the virtual hosts that serve this host. On each port it selects the most specific one only.
	Host string
	// Path selects the rules whose path match includes this path, and the matches that delegate it.
	Path string
	// Namespace selects the routes of a namespace, with all nodes below and above them.
	Namespace string
	// Route is "namespace/name". It selects one route, with all nodes below and above it.
	Route string
}

// The names of the fields of a TreeFilter in the query of a URL.
const treeHost, treePath, treeNamespace, treeRoute = "host", "path", "namespace", "route"

// ReadTreeFilter returns the filter of a query that the method Query wrote. It returns an error if path or
// route has the wrong form.
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

// Query returns the filter as the query of a URL.
func (f TreeFilter) Query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{treeHost: f.Host, treePath: f.Path, treeNamespace: f.Namespace, treeRoute: f.Route} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// apply returns the nodes that the filter selects. It removes the others from the lists Below of these nodes.
func (f TreeFilter) apply(nodes []*TreeNode) []*TreeNode {
	if f == (TreeFilter{}) {
		return nodes
	}
	return f.keep(nodes, newComparer(), f.Namespace == "" && f.Route == "")
}

// keep returns the nodes that the filter selects, and the nodes above these. It removes all other nodes from
// the lists Below. The parameter within is true if Namespace and Route of the filter need not be compared any
// more: the nodes are below a selected route, or both fields are "". The parameter paths compares paths.
func (f TreeFilter) keep(nodes []*TreeNode, paths *comparer, within bool) (out []*TreeNode) {
	for _, n := range nodes {
		selected := within || f.selects(n)
		if !f.takes(n, paths) {
			continue
		}
		if n.Kind == PortNode {
			n.Below = f.hosts(n.Below)
			if f.Path != "" {
				n.Below = slices.DeleteFunc(n.Below, func(below *TreeNode) bool { return below.Kind == NotAcceptedNode })
			}
		}
		leaf := len(n.Below) == 0
		n.Below = f.keep(n.Below, paths, selected)
		if len(n.Below) > 0 || selected && (leaf && f.showsAlone(n) || n.Kind == PointNode) {
			out = append(out, n)
		}
	}
	return out
}

// selects reports whether the filter's fields Namespace and Route select a node. It returns false unless the node is
// of the kind RouteNode or NotAcceptedNode. If Route is set, selects also returns false for the node of a Gateway,
// ListenerSet or listener, even if the object's namespace and name are those in Route.
func (f TreeFilter) selects(n *TreeNode) bool {
	key := n.field.Object
	return (n.Kind == RouteNode || n.Kind == NotAcceptedNode) && (f.Route == "" || route.IsRoute(key)) &&
		(f.Namespace == "" || key.Namespace == f.Namespace) && (f.Route == "" || key.Namespace+"/"+key.Name == f.Route)
}

// takes reports whether requests with the filter's path may reach the node. For a BrokenNode or UnservedNode,
// it reports whether the filter has neither a host nor a path.
func (f TreeFilter) takes(n *TreeNode, paths *comparer) bool {
	switch {
	case n.Kind == BrokenNode || n.Kind == UnservedNode:
		return f.Host == "" && f.Path == ""
	case f.Path == "":
		return true
	case n.delegation != nil:
		return paths.matchesPath(n.delegation.Match.Path, f.Path)
	case n.path != nil:
		return paths.matchesPath(*n.path, f.Path)
	}
	return true
}

// showsAlone reports whether a selected node that has no nodes below it stays in the tree. If Path is set, only a
// node with a path match or of the kind NotAcceptedNode stays. If Host is set, a port does not stay. All other nodes
// stay.
func (f TreeFilter) showsAlone(n *TreeNode) bool {
	return f.Path == "" && (f.Host == "" || n.Kind != PortNode) || n.path != nil || n.Kind == NotAcceptedNode
}

// hosts selects virtual hosts by the filter's host. The parameter nodes has the nodes below a port. hosts finds the
// most specific domain that covers the filter's host, and returns the nodes with this domain. It returns no nodes
// if no domain covers the host, and all nodes if the filter has no host.
func (f TreeFilter) hosts(nodes []*TreeNode) []*TreeNode {
	if f.Host == "" {
		return nodes
	}
	best := ""
	for _, n := range nodes {
		for _, domain := range n.domains {
			if scope.CoversHost(domain, f.Host) && route.Specific(domain) > route.Specific(best) {
				best = domain
			}
		}
	}
	return slices.DeleteFunc(nodes, func(n *TreeNode) bool { return best == "" || !slices.Contains(n.domains, best) })
}
