package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// pathDiffers is the reason if a rule has another path than the request. Considered does not contain these
// rules.
const pathDiffers = "path differs"

// verdict says whether a request meets a condition. The constants are in order: the verdict about two
// alternatives is their max.
type verdict uint8

const (
	// misses means that the request does not meet the condition.
	misses verdict = iota
	may            // the result depends on a value that is not known
	// takes means that the request meets the condition.
	takes
)

// matches reports whether a request meets a match. The result reason is, as text, the first condition that the
// request does not meet, or the last condition that depends on an unknown value. It is "" if the result is
// takes.
func (r *request) matches(match *ir.Match) (result verdict, reason string) {
	if !r.matchesPath(match.Path) || !within(r.path, match.Within) {
		return misses, pathDiffers
	}
	if host := hostname(r.query.Host); len(match.Hosts) > 0 &&
		!slices.ContainsFunc(match.Hosts, func(pattern string) bool { return covers(pattern, host) }) {
		return misses, "host is not " + strings.Join(match.Hosts, " or ")
	}
	if match.Method != "" && match.Method != r.query.Method {
		return misses, fmt.Sprintf("method is %s, not %s", r.query.Method, match.Method)
	}
	result = takes
	for _, want := range match.Headers {
		switch one, why := r.matchesHeader(want); one {
		case misses:
			return misses, "header " + why
		case may:
			result, reason = may, "header "+why
		}
	}
	for _, want := range match.Query {
		var values []string
		if value, has := r.parameters[want.Name]; has {
			values = []string{value}
		}
		if one, why := r.compareAny(want, values); one == misses {
			return misses, "query parameter " + why
		}
	}
	return result, reason
}

// matchesHeader reports whether a header of the request has the wanted value. The text is the reason for a
// result other than takes. If Envoy removes the header before it looks for a route, the reason contains this.
func (r *request) matchesHeader(want ir.ValueMatch) (verdict, string) {
	values := r.headers[want.Name]
	why, taken := stripped[want.Name]
	if !taken && slices.Contains(ir.ClaimedHeaders(), want.Name) {
		why, taken = "anybody could claim it, and no hop in front is trusted", true
	}
	switch {
	case want.Name == "host":
		values = []string{r.query.Host}
	case strings.Contains(want.Name, "_"):
		return misses, want.Name + " is dropped by Envoy: its name has an underscore"
	case taken && len(values) == 0 && r.query.Headers.Get(want.Name) != "":
		return misses, want.Name + " is taken away by Envoy: " + why
	}
	return r.compareAny(want, values)
}

// matchesPath reports whether the request's path meets a path match.
func (r *request) matchesPath(path ir.Path) bool {
	switch path.Kind {
	case ir.PathExact:
		return r.path == path.Value
	case ir.PathRegex:
		return r.effort.matchesWhole(path.Value, r.path)
	}
	return within(r.path, path.Value)
}

// within reports whether path has the prefix, compared by whole segments. Every path has the prefixes "" and
// "/".
func within(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// compareAny reports whether one of the values of a header or query parameter meets want, with a reason as
// text. The result is may if only an unknown value can meet it.
func (r *request) compareAny(want ir.ValueMatch, values []string) (verdict, string) {
	for _, value := range values {
		if want.Regex && isKnown(value) && r.effort.matchesWhole(want.Value, value) || !want.Regex && value == want.Value ||
			want.Regex && takesAll(want.Value) && value != "" {
			return takes, ""
		}
	}
	for _, value := range values {
		if !isKnown(value) && (want.Regex || mayEqual(value, want.Value)) {
			return may, fmt.Sprintf("%s is %q, which may be %q", want.Name, shown(value), want.Value)
		}
	}
	switch {
	case len(values) == 0:
		return misses, want.Name + " is missing"
	case want.Regex:
		return misses, fmt.Sprintf("%s is %q and does not match %q", want.Name, allShown(values), want.Value)
	}
	return misses, fmt.Sprintf("%s is %q, not %q", want.Name, allShown(values), want.Value)
}

// allShown returns the values with placeholders for unknown parts.
func allShown(values []string) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = shown(value)
	}
	return out
}
