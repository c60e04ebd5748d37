package xds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// rejectedCode is the code of a problem with something that Envoy would reject.
	rejectedCode = "RefusedByEnvoy"
	// costlyCode is the code of the problem with a regular expression that is too large.
	costlyCode = "CostlyExpression"
	// protectedCode is the code of the problem that a filter or policy changes a protected header.
	protectedCode = "ProtectedHeader"
	// maxHeaderValue is Envoy's limit for one configured value, in bytes.
	maxHeaderValue = 16 << 10
)

// checker collects problems, mostly settings that Envoy would reject. A method of checker that "rejects" a value adds
// a problem for that value. One bad route makes Envoy reject the whole RouteConfiguration, so the checks must find
// everything.
type checker struct {
	rule     *ir.Rule
	problems []manifest.Problem
}

// place returns the path of a field of the rule's object, such as the HTTPRoute. The parameter field is the last
// part of the path. Before it comes spec.rules[i] or, if inMatch is true, spec.rules[i].matches[j]. A rule with
// SignIn comes from no match of the object. Its path never contains matches[j]. If the rule's Position has fewer
// than two indexes, place returns "spec.rules".
func (c *checker) place(inMatch bool, field string) string {
	n := len(c.rule.Position)
	if n < 2 {
		return "spec.rules"
	}
	place := fmt.Sprintf("spec.rules[%d].", c.rule.Position[n-2])
	if inMatch && c.rule.SignIn == (manifest.Key{}) {
		place += fmt.Sprintf("matches[%d].", c.rule.Position[n-1])
	}
	return place + field
}

// reject adds an error at a field of the rule's object.
func (c *checker) reject(field, message, hint string) {
	c.problems = append(c.problems, manifest.Problem{
		Code: rejectedCode, Severity: manifest.Error, Object: c.rule.Source.Key,
		Field: field, Message: message, Hint: hint,
	})
}

// rejected returns the problem of a rule that passed checkRule but violates a constraint of Envoy's message
// type.
func rejected(rule *ir.Rule, err error) manifest.Problem {
	c := checker{rule: rule}
	c.reject(strings.TrimSuffix(c.place(false, ""), "."),
		"Envoy does not accept this rule: "+strings.ReplaceAll(err.Error(), "\n", "; "),
		"change the named value")
	return c.problems[0]
}

// RejectedCode is the problem code of rules that an Envoy rejected (see Rejected).
const RejectedCode = "RejectedByEnvoy"

// Rejected returns the problem of a rule that an Envoy rejected. The parameter said has Envoy's message. If
// said.Match is true, the problem says that the rule is left out, and otherwise that the rule answers 500. If
// said.Lacks is set, the problem says instead that the Envoy is too old.
func Rejected(rule *ir.Rule, said *ir.Rejection) manifest.Problem {
	c := checker{rule: rule}
	if said.Lacks != "" {
		return tooOld(said, rule.Source.Key, c.place(false, ""))
	}
	match, words := said.Match, said.Words
	does := "it answers 500"
	if match {
		does = "it is left out"
	}
	c.reject(strings.TrimSuffix(c.place(match, ""), "."), fmt.Sprintf("an Envoy does not accept this rule, %s: %s", does, words),
		"change what Envoy's words are about, here or in a policy of the rule; then it is tried again")
	c.problems[0].Code = RejectedCode
	return c.problems[0]
}

// TooOld returns the problem of a policy that needs a newer Envoy than some or all connected Envoys. The field
// said.Lacks is the policy's field that needs the newer Envoy. The Envoys that are too old answer 500 in the
// virtual hosts that use the policy.
func TooOld(policy manifest.Key, said *ir.Rejection) manifest.Problem {
	return tooOld(said, policy, said.Lacks.Path())
}

// tooOld returns the problem that Envoys are too old for a field of an object. The problem is an error if all
// connected Envoys are too old, and a warning if only some are (said.Some).
func tooOld(said *ir.Rejection, object manifest.Key, field string) manifest.Problem {
	p := manifest.Problem{
		Code: "EnvoyTooOld", Severity: manifest.Error, Object: object, Field: strings.TrimSuffix(field, "."),
		Message: "every connected Envoy is too old for this, and answers 500: " + said.Words,
		Hint:    "upgrade Envoy: a newer one serves it when it connects",
	}
	if said.Some {
		p.Severity, p.Message = manifest.Warning, "a connected Envoy is too old for this, and answers 500: "+said.Words
	}
	return p
}

// checkMatch rejects what Envoy would reject in a match.
func (c *checker) checkMatch(match *ir.Match) {
	path := c.place(true, "path.value")
	switch {
	case match.Path.Kind == ir.PathRegex:
		c.regex(path, match.Path.Value)
	case !strings.HasPrefix(match.Path.Value, "/"):
		c.reject(path, fmt.Sprintf("path %q does not begin with a slash", manifest.Shorten(match.Path.Value)), `write "/" in front`)
	case strings.ContainsAny(match.Path.Value, "?#"):
		c.reject(path, fmt.Sprintf("path %q contains a query or fragment", manifest.Shorten(match.Path.Value)),
			"compare the query with queryParams")
	default:
		c.text(path, match.Path.Value)
	}
	c.text(c.place(true, "method"), match.Method)
	for i, header := range match.Headers {
		field := c.place(true, fmt.Sprintf("headers[%d]", i))
		c.headerName(field+".name", header.Name)
		c.value(field+".value", header)
	}
	for i, parameter := range match.Query {
		field := c.place(true, fmt.Sprintf("queryParams[%d]", i))
		if parameter.Name == "" {
			c.reject(field+".name", "the name is empty", "name the query parameter")
		}
		c.text(field+".name", parameter.Name)
		c.value(field+".value", parameter)
	}
}

// value rejects a condition for a header or query parameter if the value or regular expression of the condition is
// invalid.
func (c *checker) value(field string, match ir.ValueMatch) {
	if match.Regex {
		c.regex(field, match.Value)
		return
	}
	c.text(field, match.Value)
}

// hasErrors reports whether one of the problems is an error.
func hasErrors(problems []manifest.Problem) bool {
	return slices.ContainsFunc(problems, func(p manifest.Problem) bool { return p.Severity == manifest.Error })
}

// regex rejects patterns that Envoy's RE2 does not accept, or that are empty, too long or too costly. Go and RE2 have
// almost the same syntax; foreignEscape finds the differences.
func (c *checker) regex(field, pattern string) {
	if reason := regexFault(pattern); reason != "" {
		c.reject(field, fmt.Sprintf("regular expression %q %s", manifest.Shorten(pattern), reason),
			"use the syntax of RE2: https://github.com/google/re2/wiki/Syntax")
		return
	}
	c.costly(field, pattern)
}

// costly adds a problem for a regular expression that is too large for the Envoys that namespaces share
// (counted.Costly). The problem is an error for an object outside of cluster paths under path policies, and a
// warning for any other object. It is a warning for the closed form of a rule, too: the rule answers 500 where it
// matches, and its requests do not fall to a wider rule, which may be open.
func (c *checker) costly(field, pattern string) {
	reason := counted.Costly(pattern)
	if reason == "" {
		return
	}
	c.reject(field, fmt.Sprintf("regular expression %q %s: Envoy keeps it in memory for each route, and tries it for requests", manifest.Shorten(pattern), reason),
		"repeat fewer times, and write small classes in place of \\pL, \\w and [^a]; or compare with a prefix")
	last := &c.problems[len(c.problems)-1]
	if last.Code = costlyCode; !c.rule.Source.Outside || c.rule.Action.Respond != nil {
		last.Severity = manifest.Warning
	}
}

// regexFault returns what is wrong with a regular expression, or "" if the expression may be sent to Envoy.
func regexFault(pattern string) string {
	if pattern == "" {
		return "is empty"
	}
	if strings.ContainsAny(pattern, "\x00\r\n") || !utf8.ValidString(pattern) {
		return "contains a line break, a NUL or bytes that are not UTF-8"
	}
	if fault := foreignEscape(pattern); fault != "" {
		return fault
	}
	if _, err := counted.ParseRegex(pattern); err != nil {
		return err.Error()
	}
	return ""
}

// escapes returns the expression that finds the escapes of a pattern, and the texts between \Q and \E.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:Q(?s:.*?)(?:\\E|$)|(x\{0*[1-9A-Fa-f][0-9A-Fa-f]{2,}\}|[4-7][0-7]{2})|[pP]\{\^?([^}]*)\}|.)`)
})

// foreignEscape returns in words the first escape of a pattern that Go accepts and Envoy rejects. It returns ""
// if there is none. Envoy rejects escapes above \x{FF}, because it compares bytes. It also rejects names of
// Unicode classes that are not spelled as in Unicode, such as \p{Letter} and \p{greek}. Text between \Q and \E
// has no escapes.
func foreignEscape(pattern string) string {
	for _, escape := range escapes().FindAllStringSubmatch(pattern, -1) {
		switch whole, wide, class := escape[0], escape[1], escape[2]; {
		case wide != "":
			return "contains " + whole + ": Envoy compares bytes, and takes escapes up to \\x{FF}"
		case class != "" && !knownClass(class):
			return "contains " + whole + ": Envoy takes names as \\p{L}, \\p{Lu} and \\p{Greek} are"
		}
	}
	return ""
}

// knownClass reports whether RE2 has a Unicode class with this name.
func knownClass(name string) bool {
	if name == "Any" {
		return true
	}
	if _, script := unicode.Scripts[name]; script {
		return true
	}
	_, category := unicode.Categories[name]
	return category && name != "Cn" && name != "LC"
}

// headers rejects header changes with an invalid or too long value, or with a name that changedName rejects. The
// parameter field is the path of the field that has the changes.
func (c *checker) headers(field string, mods ir.HeaderMods) {
	for _, list := range [][]ir.Header{mods.Set, mods.Add} {
		for _, header := range list {
			c.changedName(field, header.Name, false)
			c.headerValue(field, header.Value)
			if size := len(header.Value) + strings.Count(header.Value, "%"); size > maxHeaderValue {
				c.reject(field, fmt.Sprintf("the value of header %q is %d bytes long, over the limit of %d",
					manifest.Shorten(header.Name), size, maxHeaderValue), "shorten it")
			}
		}
	}
	for _, name := range mods.Remove {
		c.changedName(field, name, true)
	}
}

// changedName rejects a change of a header that has an invalid name or must not be changed. The parameter remove
// is true if the change removes the header, and false if it sets or adds the header. Envoy itself rejects changes
// of Host and of pseudo headers. Envoy would accept two other kinds of changes that changedName rejects, too:
// every change of a header in protectedHeaders, and a change that sets or adds a header for which isEnvoyHeader is
// true.
func (c *checker) changedName(field, name string, remove bool) {
	if strings.EqualFold(name, "host") {
		c.reject(field, "header Host cannot be changed by a header filter", "use the filter URLRewrite with hostname")
		return
	}
	if fault, hint := protectedFault(name, remove); fault != "" {
		c.reject(field, fault, hint)
		c.problems[len(c.problems)-1].Code = protectedCode
		return
	}
	c.headerName(field, name)
}

// headerName rejects a header name that is not a token (ir.IsToken).
func (c *checker) headerName(field, name string) {
	if !ir.IsToken(name) {
		c.reject(field, fmt.Sprintf("%q is not a legal header name", manifest.Shorten(name)),
			"use letters, digits and - only")
	}
}

// text rejects a text that an HTTP message or a protobuf message cannot contain.
func (c *checker) text(field, text string) {
	if strings.ContainsAny(text, "\x00\r\n") || !utf8.ValidString(text) {
		c.reject(field, fmt.Sprintf("%q contains a line break, a NUL or bytes that are not UTF-8", manifest.Shorten(text)),
			"remove them")
	}
}

// headerValue rejects a value that RFC 9110, section 5.5, does not allow. For example, a line break would begin
// another header.
func (c *checker) headerValue(field, value string) {
	if !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		c.reject(field, fmt.Sprintf("%q contains a line break, another control character or bytes that are not UTF-8", manifest.Shorten(value)),
			"remove them")
	}
}

// protectedFault returns why a filter or policy must not change a header, and what to do. The parameter remove is
// true if the change removes the header. Both results are "" if the change is allowed.
func protectedFault(name string, remove bool) (fault, hint string) {
	switch {
	case isProtected(name):
		return fmt.Sprintf("header %q belongs to the connection: Envoy alone may write it, "+
			"as a wrong value would mix up the messages of different users", manifest.Shorten(name)), "remove it from the list"
	case isEnvoyHeader(name) && !remove:
		return fmt.Sprintf("header %q steers Envoy and cannot be set or added", manifest.Shorten(name)),
			"use the fields of HTTPRoute and TrafficPolicy, such as timeouts and retry"
	}
	return "", ""
}
