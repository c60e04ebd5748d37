package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// pathDiffers is the reason why a rule with another path does not match a request. Answer.Considered leaves out
// the rules with this reason.
const pathDiffers = "path differs"

// verdict says whether a request meets a condition. The constants are in ascending order: misses, may, takes. If a
// request must meet only one of two conditions, the verdict on both is the greater of the two verdicts.
type verdict uint8

const (
	// misses means that the request does not meet the condition.
	misses verdict = iota
	may            // the result depends on a value that is not known
	// takes means that the request meets the condition.
	takes
)

// matches reports whether a request meets a match. If the result is misses, the text reason is the first condition
// that the request does not meet. If the result is may, reason is the last condition that depends on an unknown
// value. If the result is takes, reason is "".
func (r *request) matches(match *ir.Match) (result verdict, reason string) {
	if !r.comparer.matchesPath(match.Path, r.path) || !scope.CoversPath(match.Within, r.path) {
		return misses, pathDiffers
	}
	if host := hostname(r.query.Host); len(match.Hosts) > 0 &&
		!slices.ContainsFunc(match.Hosts, func(pattern string) bool { return scope.CoversHost(pattern, host) }) {
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
		if one, why := r.comparer.compareAny(want, values); one == misses {
			return misses, "query parameter " + why
		}
	}
	return result, reason
}

// matchesHeader reports whether a header of the request has the wanted value. The second result is the reason, as
// text. It is "" if the verdict is takes. If the client sent the header, but Envoy removes it before it looks for
// a route, the reason says so.
func (r *request) matchesHeader(want ir.ValueMatch) (verdict, string) {
	values := r.headers[want.Name]
	why, taken := ir.StrippedHeaders()[want.Name]
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
	case want.Regex && want.Value == ir.AnyValue && slices.Contains(values, ""): // Envoy compares with "", see xds
		return misses, want.Name + " is empty, in one of its lines at least"
	}
	return r.comparer.compareAny(want, values)
}
