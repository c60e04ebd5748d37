package explain

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// maxOutlined bounds the routes whose documents one question reads.
	maxOutlined = 1000
	// maxPattern is the longest regular expression, in bytes, that is compiled of a rule
	// that may be broken. The Gateway API allows 1024.
	maxPattern = 1024
	// maxCompiled bounds the regular expressions that one question compiles of such rules.
	// Of further ones the text before their first special character is compared.
	maxCompiled = 2000
	// maxSuffixes bounds how many suffixes of a path are compared.
	maxSuffixes = 64
)

// overlaps finds the routes that might match the request by host and path. It also finds invalid
// routes, as far as their documents can be read.
type overlaps struct {
	path, host, gateway string
	// routes are those that serve under the virtual host.
	routes   map[manifest.Key]bool
	outlines map[manifest.Key]outline
	fits     map[matchAt]int
	// compiled counts the regular expressions that were compiled.
	compiled int
	// compared counts the bytes of path and expression that were compared.
	compared int
}

// matchAt names a match of a rule of a route.
type matchAt struct {
	route       manifest.Key
	rule, match int
}

// outline is a store.Outline with methods that select parts of it.
type outline store.Outline

// only returns the outline of one rule and one match. An index of -1 selects all.
func (o outline) only(rule, match int) outline {
	if rule < 0 || rule >= len(o.Rules) {
		return o
	}
	one := o.Rules[rule]
	if match >= 0 && match < len(one.Paths) {
		one.Paths = one.Paths[match : match+1]
	}
	o.Rules = []store.RuleOutline{one}
	return o
}

// mayBeDelegated reports whether another route may delegate to the route. Then its paths are
// relative, or the author may have written them so by mistake.
func (o outline) mayBeDelegated() bool {
	return len(o.Parents) == 0 || slices.ContainsFunc(o.Parents, func(parent manifest.Key) bool { return parent.Kind == "HTTPRoute" })
}

// read adds the outlines of routes that it does not have yet.
func (o *overlaps) read(keys []manifest.Key, outlines func([]manifest.Key) []store.Outline) {
	var unknown []manifest.Key
	for _, key := range keys {
		if _, known := o.outlines[key]; !known && len(o.outlines) < maxOutlined {
			unknown = append(unknown, key)
			o.outlines[key] = outline{}
		}
	}
	if outlines == nil || len(unknown) == 0 {
		return
	}
	for i, found := range outlines(unknown) {
		o.outlines[unknown[i]] = outline(found)
	}
}

// underHost reports whether a route may serve the host. A route without hostnames may serve it if
// its parent is not known.
func (o *overlaps) underHost(key manifest.Key) bool {
	outline := o.outlines[key]
	switch {
	case o.routes[key]:
		return true
	case !outline.Found:
		return false
	case len(outline.Hosts) > 0:
		return o.namesRoute(key)
	case len(outline.Parents) == 0:
		return true
	}
	return slices.ContainsFunc(outline.Parents, func(parent manifest.Key) bool {
		return o.routes[parent] || parent.Kind == "ListenerSet" || o.gateway == "" || parent == ir.GatewayKey(o.gateway)
	})
}

// namesRoute reports whether a route has the host, or one of a wildcard, among its hostnames.
func (o *overlaps) namesRoute(key manifest.Key) bool {
	return slices.ContainsFunc(o.outlines[key].Hosts, func(pattern string) bool { return covers(pattern, o.host) })
}

// fit returns how much of the path a match of a rule covers, 0 for none. A rule or match of -1
// stands for any.
func (o *overlaps) fit(key manifest.Key, rule, match int) int {
	at := matchAt{key, rule, match}
	n, known := o.fits[at]
	if !known {
		n = o.compare(o.outlines[key].only(rule, match))
		o.fits[at] = n
	}
	return n
}

func (o *overlaps) compare(outline outline) int {
	best := 0
	below := outline.mayBeDelegated()
	for _, rule := range outline.Rules {
		if len(rule.Paths) == 0 { // no path can be read: it may be for any
			best = max(best, 1)
		}
		for _, path := range rule.Paths {
			best = max(best, o.fitPath(path, o.path))
			if below {
				best = max(best, o.fitBelow(path, o.path))
			}
		}
	}
	return best
}

// fitPath returns the number of characters of path that an outlined path covers, plus 1; 0 for
// none.
func (o *overlaps) fitPath(outline store.PathOutline, path string) int {
	switch outline.Type {
	case "Exact":
		if path == outline.Value {
			return len(path) + 2 // it goes before a prefix of the same length
		}
		return 0
	case "RegularExpression":
		return o.fitPattern(outline.Value, path)
	}
	if within(path, outline.Value) {
		return len(strings.TrimSuffix(outline.Value, "/")) + 1
	}
	return 0
}

func (o *overlaps) fitPattern(pattern, path string) int {
	if !strings.HasPrefix(path, literalPrefix(pattern)) {
		return 0
	}
	if len(pattern) <= maxPattern && o.compiled < maxCompiled {
		o.compiled++
		if o.compared += len(path) * len(pattern); o.compared > maxEffort {
			return len(path) + 1
		}
		if expression, err := regexp.Compile(`^(?:` + pattern + `)$`); err == nil {
			if expression.MatchString(path) {
				return len(path) + 1
			}
			return 0
		}
	}
	return len(path) + 1 // once it is valid, it may match all of it
}

// fitBelow returns the fit of the path of a delegated route, which may be relative to its parent's
// path.
func (o *overlaps) fitBelow(outline store.PathOutline, path string) int {
	best := 0
	for range maxSuffixes {
		i := strings.IndexByte(path[min(1, len(path)):], '/')
		if i < 0 {
			return best
		}
		path = path[i+1:]
		if n := o.fitPath(outline, path); n > 1 {
			best = max(best, n)
		}
	}
	return best
}
