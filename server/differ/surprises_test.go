package differ

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// surprises are what users do not expect of Envoy, by name: some request must meet each of them.
func surprises() map[string]func(x *exchange) bool {
	return map[string]func(x *exchange) bool{
		"a preflight of a rule that does not match it": func(x *exchange) bool { return x.rule != nil && x.rule.Preflight != nil },
		"a mirror of a rule without a backend": func(x *exchange) bool {
			return x.rule != nil && len(x.rule.Action.Mirrors) > 0 && !explain.Forwards(&x.rule.Action)
		},
		"a retry": func(x *exchange) bool { return x.envoy() == "backend busy" && x.retries() > 0 },
		"a body that is too large for a retry": func(x *exchange) bool {
			return x.envoy() == "backend busy" && x.question.body > ir.ConnectionBuffer && x.retrying() != "" && x.retries() == 0
		},
		"a large body that is retried": func(x *exchange) bool {
			return x.envoy() == "backend busy" && x.question.body > ir.ConnectionBuffer && x.retries() > 0
		},
		"a changed Location":         changesLocation,
		"a dot at the end of a host": func(x *exchange) bool { return strings.HasSuffix(x.question.host, ".") },
		"a space in a new path":      func(x *exchange) bool { return x.rule != nil && strings.Contains(newPathOf(&x.rule.Action), "%20") },
		"a tab in a new path":        func(x *exchange) bool { return x.rule != nil && strings.Contains(newPathOf(&x.rule.Action), "%09") },
		"a path that a host hides":   func(x *exchange) bool { return x.question.foreign && x.report.Outcome == explain.NotFound },
	}
}

// triesAgain reports whether a rule retries, and one of its backends answers with 503.
func triesAgain(rule *ir.Rule) bool {
	if rule.Action.Forward == nil || rule.Action.Retry == nil && rule.Action.Extras.OrNone().Retry == nil {
		return false
	}
	return slices.ContainsFunc(rule.Action.Forward.Backends, func(b ir.Backend) bool { return objectOf(b.Cluster) == "busy" })
}

func newPathOf(action *ir.Action) string {
	switch {
	case action.Redirect != nil && action.Redirect.Path != nil:
		return action.Redirect.Path.Value
	case action.Rewrite != nil && action.Rewrite.Path != nil:
		return action.Rewrite.Path.Value
	}
	return ""
}

// changesLocation reports whether the rule redirects, and a filter or policy of it changes Location.
func changesLocation(x *exchange) bool {
	if x.report.Outcome != explain.Redirected || x.rule == nil || x.rule.Action.Redirect == nil {
		return false
	}
	extras := x.rule.Action.Extras.OrNone()
	names := slices.Concat(x.rule.Action.ResponseHeaders.OrNone().Remove, extras.ResponseHeaders.Remove)
	for _, mods := range []ir.HeaderMods{x.rule.Action.ResponseHeaders.OrNone(), extras.ResponseHeaders} {
		for _, h := range slices.Concat(mods.Set, mods.Add) {
			names = append(names, h.Name)
		}
	}
	for _, change := range extras.Response {
		names = append(names, change.Name)
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, "location") })
}

// moreAttempts finds the number of retries in what explain says about a rule.
var moreAttempts = regexp.MustCompile(`^(\d+) more attempts?`)

// compareAttempts compares how often "busy" received a request, with the retries that explain says. No copy may come of a
// request that reaches no backend.
func (x *exchange) compareAttempts() string {
	busy, copies := 0, 0
	for _, one := range x.received {
		switch one.Backend {
		case "busy":
			busy++
		case "mirror":
			copies++
		}
	}
	if x.envoy() == "backend busy" {
		if want := 1 + x.retries(); busy != want {
			return fmt.Sprintf("attempts: by what explain says %d, the backend received %d", want, busy)
		}
	}
	if x.rule != nil && !explain.Forwards(&x.rule.Action) && copies > 0 {
		return fmt.Sprintf("copies: explain says %s, the mirror received %d", x.report.Outcome, copies)
	}
	return ""
}

// retrying is what explain says about retries, "" for nothing.
func (x *exchange) retrying() string {
	for _, action := range x.report.Actions {
		if moreAttempts.MatchString(action.Does) {
			return action.Does
		}
	}
	return ""
}

// retries is how often explain says that a request is sent again that a backend answers with 503.
func (x *exchange) retries() int {
	does := x.retrying()
	if does == "" || x.question.body > ir.ConnectionBuffer && strings.Contains(does, "none for a body of more than 32 KiB") {
		return 0
	}
	if !slices.ContainsFunc([]string{"503", "5xx", "gateway-error"}, func(cause string) bool { return strings.Contains(does, cause) }) {
		return 0
	}
	n, err := strconv.Atoi(moreAttempts.FindStringSubmatch(does)[1])
	if err != nil {
		panic(err)
	}
	return n
}
