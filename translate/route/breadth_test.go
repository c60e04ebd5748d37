package route_test

import (
	"fmt"
	"math"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// anyone looks for all routes of a namespace from each of the paths.
func anyone(paths ...string) []*route.Point {
	var points []*route.Point
	for _, path := range paths {
		points = append(points, &route.Point{
			Matcher:   ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: path}},
			Selectors: []route.Selector{{Form: route.ByNamespace, Namespace: "team"}},
		})
	}
	return points
}

// exact turns the paths into exact ones, which nothing lies within.
func exact(points []*route.Point) []*route.Point {
	for _, p := range points {
		p.Matcher.Path.Kind = ir.PathExact
	}
	return points
}

// TestFanout: what must lie within a parent's path counts once for each path that
// holds it, and what is joined to it counts for all paths.
func TestFanout(t *testing.T) {
	apart := make([]string, 16)
	for i := range apart {
		apart[i] = fmt.Sprintf("/team-%c", 'a'+i)
	}
	for _, test := range []struct {
		name    string
		points  []*route.Point
		offered route.Breadth
		want    int
	}{
		{"paths beside each other", anyone(apart...), route.Breadth{Routes: 1000, Within: 2000}, 2000},
		{"paths within each other", anyone("/", "/a", "/a/b", "/c", "/a/b/"), route.Breadth{Routes: 1, Within: 10}, 40},
		{"joined", anyone(apart...), route.Breadth{Routes: 10, Joined: 20}, 320},
		{"pairs that place nothing", exact(anyone(apart...)), route.Breadth{Routes: 1, Within: 1000}, 160},
		{"no such route", anyone("/a"), route.Breadth{Routes: 1}, 1},
		{"more than an int holds", anyone(apart...), route.Breadth{Routes: 1, Joined: math.MaxInt}, math.MaxInt32},
	} {
		t.Run(test.name, func(t *testing.T) {
			key := manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "infra", Name: "root"}
			if got := route.Fanout(key, test.points, func(route.Property) route.Breadth { return test.offered }); got != test.want {
				t.Errorf("Fanout is %d, not %d", got, test.want)
			}
		})
	}
}
