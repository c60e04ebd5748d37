package xds

import (
	"bytes"
	"slices"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

func routeAt(name, path string) []byte {
	return marshal(&routev3.Route{Name: name, Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: path}}, Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 200}}})
}

// A table that is taken apart has each host and each of its routes once, also where a route is in
// several leaves; without faults it is the same to the byte.
func TestPiecesAreThePartsOfATable(t *testing.T) {
	a, b := routeAt("a", "/"), routeAt("b", "/x/b")
	table := RouteConfiguration("r", []Host{
		VirtualHost("list.test", nil, [][]byte{a, b}),
		VirtualHost("empty.test", nil, nil),
		CompiledHost("tree.test", nil, []*Leaf{NewLeaf("", [][]byte{a}), NewLeaf("/x/", [][]byte{b, a})}),
	})
	var parts []Part
	for _, p := range Pieces(table.Body) {
		parts = append(parts, p.Part)
		if p.Route == "a" && !bytes.Equal(p.Body, a) {
			t.Errorf("%s is %q", p.Part, p.Body)
		}
	}
	want := []Part{
		{Host: "list.test"}, {Host: "list.test", Route: "a"}, {Host: "list.test", Route: "b"}, {Host: "empty.test"},
		{Host: "tree.test"}, {Host: "tree.test", Route: "a"}, {Host: "tree.test", Route: "b"},
	}
	if !slices.Equal(parts, want) {
		t.Errorf("parts %v, want %v", parts, want)
	}
	same, found := Without(&table, map[Part]Fault{{Host: "list.test", Route: "a"}: {}})
	if !bytes.Equal(same.Body, table.Body) || len(found) > 0 {
		t.Errorf("another form of a part was taken out: %v", found)
	}
}

// A part that is taken out is the same in a list and in every leaf; other hosts keep theirs.
func TestWithoutAPart(t *testing.T) {
	a, b := routeAt("a", "/"), routeAt("b", "/x/b")
	table := RouteConfiguration("r", []Host{
		CompiledHost("tree.test", nil, []*Leaf{NewLeaf("", [][]byte{a}), NewLeaf("/x/", [][]byte{b, a})}),
		VirtualHost("list.test", nil, [][]byte{a}),
	})
	at := Part{Host: "tree.test", Route: "a"}
	sum := Piece{at, a}.Sum()
	closed, found := Without(&table, map[Part]Fault{at: {Sum: sum}})
	config := &routev3.RouteConfiguration{}
	decode(t, closed.Body, config)
	if !found[at] || bytes.Count(closed.Body, a) != 1 || len(config.VirtualHosts) != 2 {
		t.Errorf("closed: %v", config)
	}
	pieces := Pieces(closed.Body)
	i := slices.IndexFunc(pieces, func(p Piece) bool { return p.Part == at })
	route := &routev3.Route{}
	decode(t, pieces[i].Body, route)
	if route.GetDirectResponse().GetStatus() != 500 || route.Match.GetPrefix() != "/" {
		t.Errorf("the part is %v", route)
	}
	gone, _ := Without(&table, map[Part]Fault{at: {Sum: sum, Match: true}})
	if slices.ContainsFunc(Pieces(gone.Body), func(p Piece) bool { return p.Part == at }) {
		t.Error("the part is left in a leaf")
	}
}
