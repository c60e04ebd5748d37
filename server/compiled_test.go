package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	cncfcorev3 "github.com/cncf/xds/go/xds/core/v3"
	cncfmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// compiled gives a linear table as one in which every host with routes has a tree
// with these keys: a list has, in their order, the routes whose literal path begins
// the key, and those whose path it begins and no longer key does; it ends with the
// first that takes all that begins with the key.
func compiled(e *entry, keys ...string) *entry {
	config := tableFrom(e)
	keys = append([]string{""}, keys...)
	for _, h := range config.VirtualHosts {
		if len(h.Routes) == 0 {
			continue
		}
		tree := &cncfmatcherv3.Matcher_MatcherTree_MatchMap{Map: map[string]*cncfmatcherv3.Matcher_OnMatch{}}
		for _, key := range keys {
			list := &routev3.RouteList{Routes: listOf(h.Routes, key, keys)}
			if len(list.Routes) > 0 {
				tree.Map[key] = &cncfmatcherv3.Matcher_OnMatch{OnMatch: &cncfmatcherv3.Matcher_OnMatch_Action{Action: typed("routes", list)}}
			}
		}
		h.Routes, h.Matcher = nil, &cncfmatcherv3.Matcher{MatcherType: &cncfmatcherv3.Matcher_MatcherTree_{MatcherTree: &cncfmatcherv3.Matcher_MatcherTree{
			Input:    typed("path", &matcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"}),
			TreeType: &cncfmatcherv3.Matcher_MatcherTree_PrefixMatchMap{PrefixMatchMap: tree},
		}}}
	}
	body := encode(config)
	sum := sha256.Sum256(body)
	return newEntry(&xds.Resource{Type: rds, Name: e.Name, Version: hex.EncodeToString(sum[:16]), Body: body,
		Linear: func() xds.Resource { return *e.Resource }})
}

func typed(name string, message proto.Message) *cncfcorev3.TypedExtensionConfig {
	packed, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return &cncfcorev3.TypedExtensionConfig{Name: name, TypedConfig: packed}
}

func tableFrom(e *entry) *routev3.RouteConfiguration {
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(e.Body, config); err != nil {
		panic(err)
	}
	return config
}

func listOf(routes []*routev3.Route, key string, keys []string) (list []*routev3.Route) {
	for _, r := range routes {
		path := literal(r.Match)
		longer := slices.ContainsFunc(keys, func(k string) bool { return len(k) > len(key) && strings.HasPrefix(path, k) })
		if !strings.HasPrefix(key, path) && (!strings.HasPrefix(path, key) || longer) {
			continue
		}
		list = append(list, r)
		all := r.Match.GetPrefix()
		if psp := r.Match.GetPathSeparatedPrefix(); psp != "" {
			all = psp + "/"
		}
		if all != "" && strings.HasPrefix(key, all) && len(r.Match.Headers) == 0 {
			break
		}
	}
	return list
}

// literal is what begins every path that a route takes.
func literal(m *routev3.RouteMatch) string {
	text := m.GetPath() + m.GetPrefix() + m.GetPathSeparatedPrefix()
	if regex := m.GetSafeRegex().GetRegex(); regex != "" {
		text = regex[:strings.IndexAny(regex+"(", `([{\.*+?|`)]
	}
	return text
}

// listsOf gives the lists of a host by their keys; the key of a linear host is "".
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

// Whatever is taken out of a compiled table, it answers as its linear form does, and
// it stays compiled but where a list could have ended with what is left out.
func TestACompiledTableIsStruckAsItsLinearForm(t *testing.T) {
	stayed, torn := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		line, keys := randomRoutes(r)
		e := compiled(line, keys...)
		refused := map[unit]*refusedPart{}
		for u, body := range readTable(line).units {
			if u.route != "" && r.IntN(5) == 0 {
				refused[u] = &refusedPart{sum: sha256.Sum256(body), match: r.IntN(2) == 0}
			}
		}
		if len(refused) == 0 {
			continue
		}
		want, got := line.without(refused).entry, e.without(refused).entry
		if !slices.Equal(got.linear().Body, want.Body) {
			t.Fatalf("seed %d: its linear form is not that of the linear table", seed)
		}
		if got.Linear != nil {
			stayed++
		} else {
			torn++
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
	if stayed < 100 || torn < 20 {
		t.Errorf("%d stayed compiled, %d did not: the test shows too little", stayed, torn)
	}
}

// randomRoutes gives a table of one host, and keys for its tree.
func randomRoutes(r *rand.Rand) (line *entry, keys []string) {
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
		routes = append(routes, encode(&routev3.Route{Name: fmt.Sprint("r", i), StatPrefix: "own", Match: m, Action: answers500()}))
	}
	for range r.IntN(5) {
		keys = append(keys, randomPath(r))
	}
	table := xds.RouteConfiguration("r", []xds.Host{xds.VirtualHost("*", nil, routes)})
	return newEntry(&table), keys
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

// A bad route of a compiled table is found in its linear form; what is served then
// is compiled.
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
			state := s.tables["r"]
			if held := tableText(state.accepted.linear()); held != c.held || state.accepted.Linear == nil {
				t.Errorf("it holds\n%s\nwant\n%s\ncompiled: %t", held, c.held, state.accepted.Linear != nil)
			}
			if text := s.held; strings.Contains(text, "bad") {
				t.Errorf("the compiled form has the fault: %s", text)
			}
			mended := compiled(tableOfText(strings.NewReplacer("=bad:", "=fine:", "~bad", "~2", "bad", "2").Replace(c.then)), "/1", "/2")
			s.serve(mended)
			if s.tables["r"].accepted != mended || s.current().rejections != 0 {
				t.Error("mended, it does not serve all")
			}
		})
	}
}

// A linear form is there once for all who need it, and goes with them.
func TestALinearFormIsSharedAndGoes(t *testing.T) {
	e := compiled(tableOfText("h: a=1"), "/1")
	made := 0
	line := e.Linear
	e.Linear = func() xds.Resource { made++; return line() }
	first := e.linear()
	if e.linear() != first || made != 1 {
		t.Errorf("made %d times for two", made)
	}
	runtime.KeepAlive(first)
	runtime.GC()
	if e.forms.linear.Value() != nil {
		t.Error("it stays when nobody has it")
	}
}

// Streams whose Envoys say the same of a table share what they make of it, and what one
// made does not change with what another one learns afterwards.
func TestStreamsShareWhatTheyMakeOfATable(t *testing.T) {
	first, then := compiled(tableOfText("h: a=1 b=1"), "/1"), compiled(tableOfText("h: a=~bad b=bad"), "/1")
	found := func() *tableState {
		s := &tableState{accepted: first, refused: map[unit]*refusedPart{}}
		s.begin(then, "bad")
		return s
	}
	one, two := found(), found()
	if one.search.suspects != two.search.suspects || one.search.probe != two.search.probe {
		t.Error("each has suspects and probes of its own")
	}
	bad := func(name string, match bool) (unit, *refusedPart) {
		u := unit{"h", name}
		return u, &refusedPart{sum: sha256.Sum256(readTable(then.linear()).find(u)), match: match}
	}
	for _, s := range []*tableState{one, two} {
		u, part := bad("a", false)
		s.refused[u] = part
	}
	both := one.amend(then)
	if both == then || two.amend(then) != both {
		t.Error("each has an amended table of its own")
	}
	u, part := bad("a", true)
	one.refused[u] = part
	two.refused[u], two.amendedOf = part, nil
	if other := two.amend(then); other == both || tableText(both.linear()) != "h: a bad" || tableText(other.linear()) != "h: bad" {
		t.Errorf("one serves %q and the other %q", tableText(both.linear()), tableText(other.linear()))
	}
}

// The page of what is served shows trees, with the routes in their leaves.
func TestThePageShowsTrees(t *testing.T) {
	r := start(t, Options{})
	r.Publish(translate.Result{Delta: []xds.Update{updateOf(*compiled(tableOfText("h: a=1 b=2"), "/1").Resource)}})
	page := r.get(t, "/api/v1/xds")
	for _, word := range []string{"prefixMatchMap", "envoy.config.route.v3.RouteList", `"path": "/2"`} {
		if !strings.Contains(page, word) {
			t.Errorf("%s is not in %s", word, page)
		}
	}
}
