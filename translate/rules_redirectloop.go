package translate

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxLoopScan is the number of rules of a host that loopRules compares with a redirected path, and the number of paths
// that it compares for one host.
const maxLoopScan = 64

// loop is a rule that redirects to a scheme, hostname and port that lead to the rule's own host. Part is the filter.
type loop struct {
	Table  tableKey
	Rule   string
	Method string
	Part   ir.Part
	// Paths are empty if the filter does not change the path. Otherwise the rule's match takes them, and the rule
	// redirects the first one to the last one. It is a loop if no other rule takes them.
	Paths []string
}

func (l *loop) compare(other *loop) int {
	return cmp.Or(manifest.CompareKeys(l.Part.Object, other.Part.Object), cmp.Compare(l.Part.Field, other.Part.Field), comparePortKeys(l.Table.portKey, other.Table.portKey),
		strings.Compare(l.Table.Chain, other.Table.Chain), strings.Compare(l.Table.Domain, other.Table.Domain), strings.Compare(l.Rule, other.Rule))
}

func compareLoops(a, b *loop) int { return a.compare(b) }

// loopKey identifies a loop by its virtual host and its rule.
type loopKey struct {
	Table tableKey
	Rule  string
}

type loopIn struct {
	mounted     *memo.Rule[manifest.Key, *mountOut]
	grafted     *memo.Rule[flatKey, *graftOut]
	host        *memo.Rule[tableKey, *hostOut]
	TrustedHops uint32
}

// loopRules find redirects to a URL that the same rule answers, with the same redirect again.
type loopRules struct {
	in     loopIn
	back   *memo.Fold[tableKey, string, *loop, ordered.Set[*loop]] // by virtual host: those that lead back to it
	loops  *memo.Rule[tableKey, []*loop]                           // by virtual host: those that are certain
	looped *memo.Fold[manifest.Key, loopKey, *loop, ordered.Set[*loop]]
}

func newLoopRules(e *memo.Engine, in loopIn) *loopRules {
	r := &loopRules{in: in}
	r.back = memo.NewFold[tableKey, string](e, "back", gather[string](compareLoops), ordered.Set[*loop].Same)
	memo.From(r.back, in.mounted, func(_ manifest.Key, m *mountOut, yield func(memo.Place[tableKey, string], *loop)) {
		m.tables(func(key tableKey, flat *flatOut) { r.leadBack(key, m.placed.in(key, flat.Entries), yield) })
	}, deepEqual)
	memo.From(r.back, in.grafted, func(_ flatKey, g *graftOut, yield func(memo.Place[tableKey, string], *loop)) {
		for _, key := range g.Tables {
			r.leadBack(key, g.placed.in(key, g.Entries), yield)
		}
	}, deepEqual)
	r.loops = memo.NewRule(e, "loops", r.runLoops, deepEqual[[]*loop])
	memo.Each(r.loops, r.back)
	r.looped = memo.NewFold[manifest.Key, loopKey](e, "looped", gather[loopKey](compareLoops), ordered.Set[*loop].Same)
	memo.From(r.looped, r.loops, func(_ tableKey, loops []*loop, yield func(memo.Place[manifest.Key, loopKey], *loop)) {
		for _, l := range loops {
			yield(memo.Place[manifest.Key, loopKey]{Key: l.Part.Object, ID: loopKey{l.Table, l.Rule}}, l)
		}
	}, deepEqual)
	return r
}

func (r *loopRules) report(all *problemFold) {
	problemsFrom(all, "looped", r.looped, loopProblems)
}

// leadBack yields the redirects among the rules of a virtual host (key) that lead back to it. Behind a proxy, gatefold
// does not know the scheme of clients, and leadBack yields none.
func (r *loopRules) leadBack(key tableKey, entries []*entry, yield func(memo.Place[tableKey, string], *loop)) {
	if r.in.TrustedHops > 0 {
		return
	}
	for _, e := range entries {
		if l := loopOf(key, e.Rule); l != nil {
			yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, l)
		}
	}
}

// loopOf returns the loop of a rule in a virtual host (key), nil if its redirect may lead elsewhere. So it does if:
//   - the match has headers: what is in front of Envoy may set them, such as X-Forwarded-Proto;
//   - clients may ask for the new URL with another method;
//   - the header Location may be changed on its way;
//   - the answer may have a cookie, by which another rule takes the next request.
func loopOf(key tableKey, rule *ir.Rule) *loop {
	to, match := rule.Action.Redirect, &rule.Match
	if to == nil || rule.Preflight != nil || len(match.Headers) > 0 || !toOwnHost(key, to, match) ||
		rule.Action.AuthInForce() != nil || changesRedirect(rule.Action.ResponseHeaders.OrNone()) || extrasChangeRedirect(rule.Action.Extras.OrNone()) {
		return nil
	}
	safe := match.Method == "" || match.Method == http.MethodGet || match.Method == http.MethodHead
	if !safe && to.Status != http.StatusTemporaryRedirect && to.Status != http.StatusPermanentRedirect {
		return nil
	}
	at := slices.IndexFunc(rule.Action.Parts, func(p ir.Part) bool {
		return p.Kind == string(gwv1.HTTPRouteFilterRequestRedirect) && strings.HasPrefix(p.Field, "spec.")
	})
	paths, back := pathsBack(match, to.Path)
	if at < 0 || !back {
		return nil
	}
	return &loop{Table: key, Rule: rule.Name, Method: cmp.Or(match.Method, http.MethodGet), Part: rule.Action.Parts[at], Paths: paths}
}

// toOwnHost reports whether a redirect leads to the scheme, port and hostname that the request was for. The parameter key
// is the virtual host. A hostname leads back only to the virtual host of that one name: another name may be another server.
func toOwnHost(key tableKey, to *ir.Redirect, match *ir.Match) bool {
	scheme, port := "http", int32(80)
	if key.Chain != "" {
		scheme = "https"
	}
	if cmp.Or(to.Scheme, scheme) == "https" {
		port = 443
	}
	if to.Port != 0 {
		port = int32(to.Port)
	}
	if port != key.Port || to.Scheme != "" && to.Scheme != scheme {
		return false
	}
	return to.Hostname == "" || to.Hostname == key.Domain && (match.Hosts == nil || slices.Contains(match.Hosts, to.Hostname))
}

// pathsBack reports whether a redirect may lead to a path that the rule's match takes, and returns the paths of a loop, as
// loop.Paths has them. The parameter change may be nil.
func pathsBack(match *ir.Match, change *ir.PathChange) (paths []string, back bool) {
	own := match.Path
	switch {
	case change == nil, !change.Full && change.Value == change.Prefix:
		return nil, true
	case change.Full && own.Kind == ir.PathExact:
		return nil, change.Value == own.Value
	case own.Kind != ir.PathPrefix || match.Within != "" || len(match.Query) > 0 || strings.ContainsAny(change.Value, "?#") || !mayTakePath(match, change.Value):
		return nil, false
	case change.Full:
		return []string{change.Value}, true
	}
	return []string{change.Value, change.Value + strings.TrimPrefix(change.Value, change.Prefix)}, true
}

// mayTakePath reports whether a match may take a path. It compares all of a path prefix or an exact path, and the literal
// beginning of a regular expression.
func mayTakePath(match *ir.Match, path string) bool {
	switch own := match.Path; own.Kind {
	case ir.PathExact:
		return path == own.Value
	case ir.PathPrefix:
		return scope.CoversPath(own.Value, path)
	}
	return strings.HasPrefix(path, xds.Prefix(match))
}

// changesRedirect reports whether mods change the header Location, or set a cookie.
func changesRedirect(mods ir.HeaderMods) bool {
	named := func(h ir.Header) bool { return changesNext(h.Name) }
	return slices.ContainsFunc(mods.Set, named) || slices.ContainsFunc(mods.Add, named) || slices.ContainsFunc(mods.Remove, changesNext)
}

// changesNext reports whether a header of a redirect, by its name, changes the next request of the client.
func changesNext(name string) bool {
	return strings.EqualFold(name, "location") || strings.EqualFold(name, "set-cookie")
}

// extrasChangeRedirect reports whether policies change such a header of an answer, or may do so.
func extrasChangeRedirect(extras ir.Extras) bool {
	return extras.ExtProc != nil || extras.ExtAuth != nil || changesRedirect(extras.ResponseHeaders) ||
		slices.ContainsFunc(extras.Response, func(c ir.HeaderChange) bool { return changesNext(c.Name) })
}

// runLoops returns the certain loops of a virtual host. For a changed path, it looks which rule takes the new one.
func (r *loopRules) runLoops(c *memo.Ctx, key tableKey) (loops []*loop) {
	back, _ := r.back.Get(c, key)
	host := r.in.host.Get(c, key)
	if host == nil || host.Rejected != nil || extrasChangeRedirect(host.extras().OrNone()) {
		return nil
	}
	compared := 0
	for l := range back.All() {
		compared += len(l.Paths)
		if len(l.Paths) > 0 && compared > maxLoopScan || slices.ContainsFunc(l.Paths, func(path string) bool { return host.first(l.Method, path) != l.Rule }) {
			continue
		}
		loops = append(loops, l)
	}
	return loops
}

// first returns the name of the first rule that may take requests of a method for a path, without headers and a query. It
// returns "" if none of the first rules does (maxLoopScan).
func (h *hostOut) first(method, path string) string {
	looked := 0
	for e := range h.Table.All() {
		if looked++; looked > maxLoopScan {
			return ""
		}
		m := &e.Rule.Match
		if e.Rule.Preflight == nil && len(m.Headers)+len(m.Query) == 0 && (m.Method == "" || m.Method == method) && mayTakePath(m, path) {
			return e.Rule.Name
		}
	}
	return ""
}

// loopProblems returns a warning for each filter among the loops, even if it is on several hosts. The set must not be
// empty.
func loopProblems(all ordered.Set[*loop]) (problems []manifest.Problem) {
	list := slices.Collect(all.All())
	for len(list) > 0 {
		first, n := list[0], 1
		for n < len(list) && list[n].Part == first.Part {
			n++
		}
		problems = append(problems, first.problem(n-1))
		list = list[n:]
	}
	return problems
}

// problem returns the warning about a loop. The parameter more is the number of other rules of the same filter.
func (l *loop) problem(more int) manifest.Problem {
	what := "each request is redirected to its own URL: scheme, hostname, port and path are the same"
	if len(l.Paths) > 0 {
		what = fmt.Sprintf("a request for %s is redirected to %s, which the same rule redirects again", l.Paths[0], l.Paths[len(l.Paths)-1])
	}
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (hosts, ports or matches like it: %d more)", more)
	}
	return manifest.Problem{
		Code: "RedirectLoop", Severity: manifest.Warning, Object: l.Part.Object, Field: l.Part.Field,
		Message: fmt.Sprintf("for host %q on port %d of Gateway %s%s, %s. Clients follow it again and again, and give up", l.Table.Domain, l.Table.Port, l.Table.Gateway, others, what),
		Hint: "redirect to a URL that another rule answers. A redirect from HTTP to HTTPS belongs in a route with the sectionName of the HTTP listener in parentRefs, " +
			"a redirect to another hostname in a route without that hostname",
	}
}
