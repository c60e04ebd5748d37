package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
)

// maxReason is how many bytes of a reason are written into api.AnnotationClosed.
const maxReason = 600

// shutRule makes a rule of a route answer an error: it removes everything except name and matches from the rule, and
// writes the reason into the route's annotation api.AnnotationClosed, so that the rule stays closed if somebody gives
// it backends. A rule without a name gets one. The parameter i is the index of the rule.
func shutRule(route *item, i int, reason string) {
	rules := list(route.spec()["rules"])
	left := map[string]any{"name": nameOfRule(rules, i)}
	if matches := at(rules[i], "matches"); matches != nil {
		left["matches"] = matches
	}
	rules[i] = left
	noteClosed(route, text(left["name"]), reason)
}

// nameOfRule returns the name of the rule with index i. If it has none, nameOfRule returns a name that no other rule
// has.
func nameOfRule(rules []any, i int) string {
	if name := text(at(rules[i], "name")); name != "" {
		return name
	}
	for n := i; ; n++ {
		name := fmt.Sprintf("closed-%d", n)
		if !slices.ContainsFunc(rules, func(rule any) bool { return text(at(rule, "name")) == name }) {
			return name
		}
	}
}

// noteClosed adds a line for a rule to the route's annotation api.AnnotationClosed. If the rule has a line, its reason
// stays.
func noteClosed(route *item, rule, reason string) {
	metadata, _ := route.fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	before := text(annotations[api.AnnotationClosed])
	if closed, err := api.ParseClosed(before); err != nil || closed[rule] == "" {
		annotations[api.AnnotationClosed] = before + rule + ": " + oneLine(reason) + "\n"
	}
}

// oneLine returns a reason as one line of at most about maxReason bytes.
func oneLine(reason string) string {
	line := strings.ToValidUTF8(strings.Join(strings.Fields(reason), " "), "?")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "…"
	}
	return line
}
