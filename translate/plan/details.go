package plan

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/ir"
)

// details returns, in words, differences that partWords may leave out: the address ranges of acl and rbac, the
// expressions of rbac, and the fields of CORS. The parameter kind is the ir.Part.Kind of a policy field or of the
// filter CORS. details returns "" if there are no such differences, or if one side does not have the field.
func details(kind string, before, after *ir.Action) string {
	x, y := before.Extras.OrNone(), after.Extras.OrNone()
	cors := func(a, b *ir.CORS) string {
		if a == nil || b == nil {
			return ""
		}
		return strings.Join(corsDetails(a, b), "; ")
	}
	switch kind {
	case ir.FieldACL.PartKind():
		if x.ACL != nil && y.ACL != nil {
			return listDetails("ranges", aclLines(x.ACL), aclLines(y.ACL))
		}
	case ir.FieldRBAC.PartKind():
		if a, b := x.RBAC, y.RBAC; a != nil && b != nil {
			return joined(
				listDetails("expressions", a.Expressions, b.Expressions), listDetails("allowed ranges", a.Allowed, b.Allowed),
				listDetails("blocked ranges", a.Blocked, b.Blocked),
			)
		}
	case ir.FieldCORS.PartKind():
		return cors(x.CORS, y.CORS)
	case string(gwv1.HTTPRouteFilterCORS):
		return cors(before.CORS, after.CORS)
	}
	return ""
}

// joined returns the texts that are not empty, separated by "; ".
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// aclLines returns each range of an ACL with its decision, "allow" or "deny".
func aclLines(acl *ir.ACL) (out []string) {
	for i := range acl.Rules {
		verb := map[bool]string{true: "allow ", false: "deny "}[acl.Rules[i].Allow]
		for _, text := range acl.Rules[i].Ranges {
			out = append(out, verb+text)
		}
	}
	return out
}

// maxListed bounds how many values of a list are shown.
const maxListed = 6

// listDetails returns the values that a list gained and lost, in words. It shows at most maxListed of each, and
// counts the others. It returns "" if there are none.
func listDetails(name string, before, after []string) string {
	only := func(list, others []string) string {
		known := map[string]bool{}
		for _, one := range others {
			known[one] = true
		}
		var out []string
		for _, one := range list {
			if !known[one] {
				out = append(out, oneLine(one))
			}
		}
		if more := len(out) - maxListed; more > 0 {
			out = append(out[:maxListed], fmt.Sprintf("%d more", more))
		}
		return strings.Join(out, ", ")
	}
	var words []string
	if added := only(after, before); added != "" {
		words = append(words, name+" added: "+added)
	}
	if removed := only(before, after); removed != "" {
		words = append(words, name+" removed: "+removed)
	}
	return strings.Join(words, "; ")
}

// oneLine returns a text in which each run of white space is replaced by a single space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// corsDetails returns the fields of CORS that differ, except the origins.
func corsDetails(a, b *ir.CORS) (out []string) {
	say := func(name, x, y string) {
		if x != y {
			out = append(out, fmt.Sprintf("%s: %s; before: %s", name, y, x))
		}
	}
	list := func(values []string) string { return orNone(values) }
	say("allowCredentials", fmt.Sprint(a.Credentials), fmt.Sprint(b.Credentials))
	say("allowMethods", list(a.Methods), list(b.Methods))
	say("allowHeaders", list(a.Headers), list(b.Headers))
	say("exposeHeaders", list(a.Show), list(b.Show))
	say("maxAge", fmt.Sprintf("%d s", a.MaxAge), fmt.Sprintf("%d s", b.MaxAge))
	return out
}
