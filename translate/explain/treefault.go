package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// codeShadowed is the code of a problem of a match that gets no requests because other matches get them.
const codeShadowed = "Shadowed"

// addFault stores in t.faults the first error of each rule, and the problem Shadowed of each match.
func (t *treeMaker) addFault(p *manifest.Problem) {
	if !isRoute(p.Object) {
		return
	}
	rule, rest, _ := strings.Cut(p.Field, "]")
	at := manifest.Field{Object: p.Object, Path: rule + "]"}
	switch {
	case p.Code == codeShadowed && strings.HasPrefix(rest, ".matches["):
		at.Path = p.Field
	case p.Severity != manifest.Error || !strings.HasPrefix(rule, "spec.rules["):
		return
	}
	if _, more := t.faults[at]; !more {
		t.faults[at] = *p
	}
}

// explainFault sets Why of a rule's node, and adds it to the node's Name. Why is the reason why the rule
// answers an error (see answers500). If there is no such reason, Why is the problem Shadowed, if the rule has
// one for one of the domains. explainFault changes nothing if Why is set, or if there is no reason and no such
// problem.
func (t *treeMaker) explainFault(n *TreeNode, a *ir.Action, domains []string) {
	if n.Why != "" {
		return
	}
	rule, _, _ := strings.Cut(n.field.Path, ".matches[")
	broken, isBroken := t.faults[manifest.Field{Object: n.field.Object, Path: rule}]
	shadowed, isShadowed := t.faults[n.field]
	named := func(domain string) bool { return strings.Contains(shadowed.Message, strconv.Quote(domain)) }
	switch {
	case answers500(a) && a.Forward == nil && a.Respond.Why != "":
		n.Why = a.Respond.Why
	case answers500(a) && isBroken:
		n.Code, n.Why = broken.Code, broken.Code+": "+broken.Message
	case isShadowed && slices.ContainsFunc(domains, named):
		n.Code, n.Why = shadowed.Code, shadowed.Code+": "+shadowed.Message
	}
	if n.Why != "" {
		n.Name += ", " + n.Why
	}
}

// answers500 reports whether an action answers 500 itself, or has a backend reference that is not resolved and
// has a weight above 0. For a GRPCRoute, such a reference is answered with UNAVAILABLE.
func answers500(a *ir.Action) bool {
	switch {
	case a.Redirect != nil:
		return false
	case a.Forward == nil:
		return a.Respond != nil && a.Respond.Status == 500
	}
	return slices.ContainsFunc(a.Forward.Backends, func(b ir.Backend) bool { return b.Cluster == "" && b.Weight > 0 })
}
