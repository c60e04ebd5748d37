package delta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate/xds"
)

func tableFrom(e *Entry) *routev3.RouteConfiguration {
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(e.Body, config); err != nil {
		panic(err)
	}
	return config
}

// compiled returns a table with trees, as deltatest does.
func compiled(e *Entry, keys ...string) *Entry {
	return NewEntry(deltatest.Compiled(e.Resource, keys...))
}

// listsOf returns the lists of a host by their keys; the key of a linear host is "".
func listsOf(h *routev3.VirtualHost) map[string][]*routev3.Route {
	tree := h.GetMatcher().GetMatcherTree().GetPrefixMatchMap()
	if tree == nil {
		return map[string][]*routev3.Route{"": h.Routes}
	}
	lists := map[string][]*routev3.Route{}
	for key, leaf := range tree.Map {
		list := &routev3.RouteList{}
		if err := leaf.GetAction().GetTypedConfig().UnmarshalTo(list); err != nil {
			panic(err)
		}
		lists[key] = list.Routes
	}
	return lists
}

// serves tells which route of a host takes a request, by name and answer; header
// tells whether it has the one that routes may ask for.
func serves(h *routev3.VirtualHost, path string, header bool) string {
	lists := listsOf(h)
	longest := slices.SortedFunc(maps.Keys(lists), func(a, b string) int { return len(b) - len(a) })
	for _, key := range longest {
		if !strings.HasPrefix(path, key) {
			continue
		}
		for _, r := range lists[key] {
			if takes(r.Match, path) && (header || len(r.Match.Headers) == 0) {
				return fmt.Sprint(r.Name, " ", r.StatPrefix)
			}
		}
		return "404"
	}
	return "404"
}

func takes(m *routev3.RouteMatch, path string) bool {
	switch at := m.PathSpecifier.(type) {
	case *routev3.RouteMatch_Path:
		return path == at.Path
	case *routev3.RouteMatch_Prefix:
		return strings.HasPrefix(path, at.Prefix)
	case *routev3.RouteMatch_PathSeparatedPrefix:
		return path == at.PathSeparatedPrefix || strings.HasPrefix(path, at.PathSeparatedPrefix+"/")
	case *routev3.RouteMatch_SafeRegex:
		return regexp.MustCompile("^(?:" + at.SafeRegex.Regex + ")$").MatchString(path)
	}
	panic("no path")
}

// Whatever is taken out of a compiled table, it answers as its list of routes does. A route that
// takes all that has its prefix has no match that an Envoy could reject.
func TestACompiledTableIsServedWithoutPartsAsAList(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		line, keys := randomRoutes(r)
		e := compiled(line, keys...)
		plain := map[string]bool{}
		for _, route := range tableFrom(line).VirtualHosts[0].Routes {
			plain[route.Name] = len(route.Match.Headers) == 0 && route.Match.GetSafeRegex() == nil
		}
		faults := map[xds.Part]xds.Fault{}
		for _, p := range xds.Pieces(line.Body) {
			if p.Route != "" && r.IntN(5) == 0 {
				faults[p.Part] = xds.Fault{Sum: p.Sum(), Match: !plain[p.Route] && r.IntN(2) == 0}
			}
		}
		want, got := line.without(faults), e.without(faults)
		if len(want.leftOut) != len(faults) {
			t.Fatalf("seed %d: of %d parts %d are taken out of the list", seed, len(faults), len(want.leftOut))
		}
		for _, path := range randomPaths(r) {
			for _, header := range []bool{false, true} {
				w, g := serves(tableFrom(want).VirtualHosts[0], path, header), serves(tableFrom(got).VirtualHosts[0], path, header)
				if w != g {
					t.Fatalf("seed %d: %s: %q, want %q", seed, path, g, w)
				}
			}
		}
	}
}

// randomRoutes returns a table of one host, and keys for its tree.
func randomRoutes(r *rand.Rand) (line *Entry, keys []string) {
	var routes [][]byte
	for i := range 1 + r.IntN(25) {
		path := randomPath(r)
		m := &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}}
		switch r.IntN(5) {
		case 0:
			m.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: path}
		case 1:
			if path != "/" {
				m.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: path}
			}
		case 2:
			m.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: path + "[a-z]*"}}
		}
		if r.IntN(4) == 0 {
			m.Headers = []*routev3.HeaderMatcher{{Name: "x"}}
		}
		routes = append(routes, deltatest.Encode(&routev3.Route{Name: fmt.Sprint("r", i), StatPrefix: "own", Match: m, Action: deltatest.Answers500()}))
	}
	for range r.IntN(5) {
		keys = append(keys, randomPath(r))
	}
	table := xds.RouteConfiguration("r", []xds.Host{xds.VirtualHost("*", nil, routes)})
	return NewEntry(&table), keys
}

func randomPath(r *rand.Rand) string {
	path := ""
	for range 1 + r.IntN(2) {
		path += "/" + []string{"a", "ab", "b"}[r.IntN(3)]
	}
	if r.IntN(4) == 0 {
		return "/"
	}
	return path
}

func randomPaths(r *rand.Rand) (paths []string) {
	for range 40 {
		paths = append(paths, randomPath(r)+[]string{"", "/", "/b", "b", "/x"}[r.IntN(5)])
	}
	return paths
}

// A bad route of a compiled table is found; what is served then is compiled.
func TestABadRouteOfACompiledTableIsFound(t *testing.T) {
	for name, c := range map[string]struct{ first, then, held string }{
		"an edit, in its answer":    {"h: a=1 b=1", "h: a=2 b=~bad c=1", "h: 2 b 1"},
		"an edit, in its match":     {"h: a=1 b=1", "h: a=2 b=bad c=1", "h: 2 1"},
		"several, in several hosts": {"h: a=1\ng: a=1", "h: a=bad1 b=1 c=~bad2\ng: a=2 b=bad3\nf: a=~bad a1=1", "h: 1 c\ng: 2\nf: a 1"},
		"nothing before":            {"", "h: a=1 b=bad c=1", "h: 1 1"},
		"a host":                    {"h: a=1", "h: a=2\ng=bad: a=1\nf: b=1", "h: 2\nf: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSearched(t)
			if c.first != "" {
				s.serve(compiled(tableOfText(c.first), "/1", "/bad"))
			}
			s.serve(compiled(tableOfText(c.then), "/1", "/bad"))
			accepted := s.states["r"].accepted
			if held, want := routesIn(s.held), routesIn(c.held); !maps.EqualFunc(held, want, maps.Equal) || !isTree(accepted) {
				t.Errorf("it holds\n%s\nwant\n%s\ncompiled: %t", s.held, c.held, isTree(accepted))
			}
			mended := compiled(tableOfText(strings.NewReplacer("=bad:", "=fine:", "~bad", "~2", "bad", "2").Replace(c.then)), "/1", "/2")
			s.serve(mended)
			if s.states["r"].accepted != mended || s.State().Rejections != 0 {
				t.Error("mended, it does not serve all")
			}
		})
	}
}

// isTree reports whether some host of a table is compiled.
func isTree(e *Entry) bool {
	return slices.ContainsFunc(tableFrom(e).VirtualHosts, func(h *routev3.VirtualHost) bool { return h.Matcher != nil })
}

// routesIn returns the routes of each host in what tableText writes.
func routesIn(text string) map[string]map[string]bool {
	hosts := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		host, routes, _ := strings.Cut(strings.TrimSpace(line), ":")
		hosts[host] = map[string]bool{}
		for route := range strings.FieldsSeq(routes) {
			hosts[host][route] = true
		}
	}
	return hosts
}

// Streams whose Envoys say the same of a table share what they make of it, and it goes with the
// last of them.
func TestStreamsShareWhatTheyMakeOfATable(t *testing.T) {
	first, then := compiled(tableOfText("h: a=1 b=1"), "/1"), compiled(tableOfText("h: a=~bad b=bad"), "/1")
	one, two := then.suspects(first), then.suspects(first)
	if one != two || one.probe(0, 1) != two.probe(0, 1) {
		t.Error("each has suspects and probes of its own")
	}
	faults := map[xds.Part]xds.Fault{}
	for _, p := range xds.Pieces(then.Body) {
		if p.Route == "a" {
			faults[p.Part] = xds.Fault{Sum: p.Sum()}
		}
	}
	amended := then.without(faults)
	if amended == then || then.without(maps.Clone(faults)) != amended || amended.source() != then {
		t.Error("each has an amended table of its own")
	}
	runtime.KeepAlive(one)
	runtime.KeepAlive(amended)
	runtime.GC()
	if then.forms.suspects.Value() != nil {
		t.Error("it stays when nobody has it")
	}
}
