package cases

import (
	"math/rand/v2"
	"net/url"
	"regexp/syntax"
	"strings"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// pick returns one of the values at random.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// AimAt changes a query at random so that the given match usually accepts the query. The match may still reject the
// query if the match has a regular expression (for the path, a header or a query parameter), or if match.Within is
// set. If the match has hosts, about one call in four leaves query.Host unchanged. The match may reject that host.
func AimAt(r *rand.Rand, query *explain.Query, match ir.Match) {
	query.Path = match.Path.Value
	if match.Path.Kind == ir.PathRegex {
		query.Path = sampleOf(r, match.Path.Value)
	}
	if match.Path.Kind == ir.PathPrefix {
		query.Path = strings.TrimSuffix(query.Path, "/") + pick(r, "/", "/a", "/x", "/b/c", "/7", "/a/a/x")
	}
	if match.Method != "" {
		query.Method = match.Method
	}
	if len(match.Hosts) > 0 && r.IntN(4) > 0 {
		query.Host = strings.Replace(pick(r, match.Hosts...), "*", "x", 1)
	}
	for _, header := range match.Headers {
		value := header.Value
		if header.Regex && strings.HasPrefix(header.Name, "access-control-request-") { // of a rule for preflight requests
			value = sampleOf(r, value)
		}
		query.Headers.Set(header.Name, value)
	}
	separator := pick(r, "?", "?x=1&")
	for _, parameter := range match.Query {
		query.Path += separator + parameter.Name + "=" + parameter.Value
		separator = "&"
	}
}

// sampleOf returns a random text that a regular expression usually matches (see sample), or the expression if it is
// invalid.
func sampleOf(r *rand.Rand, pattern string) string {
	parsed, err := counted.ParseRegex(pattern)
	if err != nil {
		return pattern
	}
	return sample(r, parsed)
}

// sample returns a random text that an expression usually matches. A counted repetition, for example "a{2}", is in
// the text only once, so that the text may not match.
func sample(r *rand.Rand, e *syntax.Regexp) string {
	var b strings.Builder
	switch e.Op {
	case syntax.OpLiteral:
		return string(e.Rune)
	case syntax.OpCharClass:
		return string(member(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return pick(r, "x", "/", "7")
	case syntax.OpAlternate:
		return sample(r, pick(r, e.Sub...))
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		times := r.IntN(2)
		if e.Op == syntax.OpPlus {
			times++
		}
		for range times {
			b.WriteString(sample(r, e.Sub[0]))
		}
		return b.String()
	}
	for _, sub := range e.Sub {
		b.WriteString(sample(r, sub))
	}
	return b.String()
}

// member returns a rune of a character class, which is a list of ranges. It prefers runes that are usual in
// paths.
func member(ranges []rune) rune {
	for _, want := range "a7-" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	return ranges[0]
}

// Near changes a path at random to a path with the same meaning, or to a slightly different path. The parameter
// path may have a query after "?", which is kept. The text before "?" must not be empty.
func Near(r *rand.Rand, path string) string {
	path, query, found := strings.Cut(path, "?")
	i := r.IntN(len(path))
	switch r.IntN(10) {
	case 0:
		path += "/"
	case 1:
		path = path[:i] + "/" + path[i:]
	case 2:
		path += pick(r, "x", "c", "7", ".html", ";x", ";/a")
	case 3:
		path = strings.ToUpper(path)
	case 4:
		path = path[:max(1, strings.LastIndex(path, "/"))]
	case 5:
		path = strings.Replace(path, "a", "%61", 1)
	case 6:
		path = strings.Replace(path, "/", pick(r, "/./", "/x/../", "%2F", "/%2e/", "//", ";/", "/%2e%2E/"), 1)
	case 7:
		path += pick(r, "/end", "/x", "/c", "/..", "/%2F")
	case 8:
		path += "?q=" + pick(r, "1", "2")
	case 9:
		path = strings.TrimSuffix(path, "/")
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if _, err := url.PathUnescape(path); err != nil { // a backend in Go would answer 400 to this
		path = strings.ReplaceAll(path, "%", "%25")
	}
	if found {
		path += "?" + query
	}
	return path
}
