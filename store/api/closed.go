package api

import (
	"errors"
	"fmt"
	"strings"
)

// AnnotationClosed is for an HTTPRoute or GRPCRoute. It names rules that are closed, each with the reason (see
// ParseClosed). gatefold import writes it for rules whose protection it cannot express. A closed rule answers an
// error, whatever filters and backends it has.
const AnnotationClosed = "gatefold.io/closed"

// ParseClosed returns the reasons in a value of AnnotationClosed, by the name of the rule. Each line of the value is
// RULE: REASON; empty lines are ignored.
func ParseClosed(value string) (map[string]string, error) {
	reasons := map[string]string{}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		rule, reason, ok := strings.Cut(line, ":")
		rule, reason = strings.TrimSpace(rule), strings.TrimSpace(reason)
		switch {
		case !ok || rule == "" || reason == "":
			return nil, fmt.Errorf("the line %q is not RULE: REASON", line)
		case reasons[rule] != "":
			return nil, fmt.Errorf("the rule %q has two lines", rule)
		}
		reasons[rule] = reason
	}
	if len(reasons) == 0 {
		return nil, errors.New("it names no rule: each line is RULE: REASON")
	}
	return reasons, nil
}
