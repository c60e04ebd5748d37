package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// codeShadowed is the problem code of a match that gets no requests, because other matches get all its requests.
const codeShadowed = "Shadowed"

// codeNoBackends is the code of a warning about a rule without backends, which answers an error.
const codeNoBackends = "NoBackends"

// addFault stores the problem p of a route in t.faults, if p is one of these problems:
//   - an error in a rule, or the warning NoBackends about a rule. It is stored for the rule.
//   - the problem Shadowed of a match. It is stored for the match.
//
// If t.faults already has a problem for this rule or match, addFault keeps the older problem.
func (t *treeMaker) addFault(p *manifest.Problem) {
	if !route.IsRoute(p.Object) {
		return
	}
	rule, rest, _ := strings.Cut(p.Field, "]")
	at := manifest.Field{Object: p.Object, Path: rule + "]"}
	switch {
	case p.Code == codeShadowed && strings.HasPrefix(rest, ".matches["):
		at.Path = p.Field
	case p.Severity != manifest.Error && p.Code != codeNoBackends || !strings.HasPrefix(rule, "spec.rules["):
		return
	}
	if _, more := t.faults[at]; !more {
		t.faults[at] = *p
	}
}

// explainFault sets Why, Code and Fails of the node of a rule, and adds Why to the node's Name. The texts for Why
// come from t.faults (see addFault) and from the rule. Why is the first of these texts that exists:
//
//   - the problem Shadowed of the rule's match, if its message names one of the domains. A rule that answers an
//     error (see fails) gets this text only if its own problem in t.faults is a warning (NoBackends): an error in
//     the rule is more important.
//   - if the rule answers an error: the field Why of the rule's Respond
//   - if the rule answers an error: the rule's own problem in t.faults
//
// explainFault changes nothing if the node already has a Why, or if none of these texts exists.
func (t *treeMaker) explainFault(n *TreeNode, r *ir.Rule, domains []string) {
	if n.Why != "" {
		return
	}
	rule, _, _ := strings.Cut(n.field.Path, ".matches[")
	broken, isBroken := t.faults[manifest.Field{Object: n.field.Object, Path: rule}]
	shadowed, isShadowed := t.faults[n.field]
	named := func(domain string) bool { return strings.Contains(shadowed.Message, strconv.Quote(domain)) }
	isShadowed = isShadowed && slices.ContainsFunc(domains, named)
	switch {
	case isShadowed && (!fails(r) || isBroken && broken.Severity != manifest.Error):
		n.Code, n.Why = shadowed.Code, shadowed.Code+": "+shadowed.Message
	case !fails(r):
	case r.Action.Forward == nil && r.Action.Respond.Why != "":
		n.Why = r.Action.Respond.Why
	case isBroken:
		n.Code, n.Why = broken.Code, broken.Code+": "+broken.Message
	}
	if n.Why != "" && fails(r) && n.Code != codeShadowed {
		n.Fails = r.Match.Path.UnresolvedWords()
	}
	if n.Why != "" {
		n.Name += ", " + n.Why
	}
}

// fails reports whether a rule is closed and answers an error to all its requests, or has a backend reference that
// is not resolved and has a weight above 0 (see ir.Path.Unresolved).
func fails(r *ir.Rule) bool {
	a := &r.Action
	switch {
	case a.Redirect != nil:
		return false
	case a.Forward == nil:
		return a.Respond != nil && a.Respond.Status == r.Match.Path.Unresolved()
	}
	return slices.ContainsFunc(a.Forward.Backends, func(b ir.Backend) bool { return b.Cluster == "" && b.Weight > 0 })
}

// markStale marks the node of an object whose last valid version is served. Why of the node says what is wrong with
// the newest version.
func (t *treeMaker) markStale(n *TreeNode) {
	stale, ok := t.stale[n.field.Object]
	if !ok {
		return
	}
	n.Stale, n.At, n.Why = true, stale.Place, stale.Message
	n.Name += ", stale (" + string(stale.Stage) + "): the last valid version is served"
	if stale.Message != "" {
		n.Name += "; " + stale.Message
	}
}

// markUnprogrammed adds to the Name of the node of a port why the port is not programmed, if it is not, and sets Why of
// the node unless it has one: a stale Gateway keeps what is wrong with its newest version.
// The reason is that of its first listener with one: Envoys bind and accept all listeners of a port together.
func (t *treeMaker) markUnprogrammed(n *TreeNode, port *ir.Port) {
	for _, l := range port.Listeners {
		if why := t.unprogrammed[binding{l.Object, l.Name}]; why != "" {
			n.Why = cmp.Or(n.Why, why)
			n.Name += ", not programmed: " + why
			return
		}
	}
}
