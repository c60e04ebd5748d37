package translate

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
)

// gathering collects the policies that apply to one rule, or to one listener, before they are merged.
type gathering struct {
	get   func(manifest.Key) *policyOut
	specs []*policy.Attached
	// counted are the policies in specs whose policyOut.Counted is true.
	counted []*policy.Attached
	// closed is the reason why the rules answer 500, nil if they serve. streams is the reason why connections
	// are refused, nil if they are not. Of several reasons, closing.before decides which one is kept.
	closed, streams *closing
	// writes are the identity headers that the policies write, also those of policies that cannot be used.
	writes []*written
}

// gathering returns an empty gathering. When a policy is added later, the gathering reads the result of that
// policy through c.
func (r *policyRules) gathering(c *memo.Ctx) *gathering {
	return &gathering{get: func(of manifest.Key) *policyOut { return r.policy.Get(c, of) }}
}

// close records the reason why the rules answer 500. If another reason was recorded earlier, closing.before decides
// which of the two is kept. If streams is true, connections of TCP, TLS and UDP listeners are refused for the same
// reason.
func (g *gathering) close(reason *closing, streams bool) {
	if reason.before(g.closed) {
		g.closed = reason
	}
	if streams && reason.before(g.streams) {
		g.streams = reason
	}
}

// add adds the policy with the given key. The parameter standing says how the policy applies, for example by
// its targetRef. If the policy cannot be used, the rules answer 500. If the policy does not exist, add changes
// nothing, and found is false.
func (g *gathering) add(key manifest.Key, standing policy.Standing) (found bool) {
	p := g.get(key)
	if p.Attached == nil {
		return false
	}
	g.write(p.Written)
	if p.Unusable != "" {
		why := "%s cannot be used: %s"
		switch {
		case p.Unserved:
			why = "%s closes it: %s"
		case p.Invalid:
			why = "%s is invalid: %s"
		}
		g.close(&closing{fmt.Sprintf(why, key, p.Unusable), ir.Part{Kind: ir.PartClosed, Object: key, Field: p.Field}, p.Unasked},
			p.Invalid || policy.SetsForStreams(p.Attached.Spec))
	}
	attached := *p.Attached
	attached.Standing = standing
	g.specs = append(g.specs, &attached)
	if p.Counted {
		g.counted = append(g.counted, &attached)
	}
	return true
}

// closeForLost makes the rules answer 500 if a policy protects (see protects). The policy names a section that its target
// does not have.
func (g *gathering) closeForLost(key manifest.Key, section string) {
	p := g.get(key)
	if !p.protects() {
		return
	}
	g.write(p.Written)
	why := fmt.Sprintf("%s protects %q, which its target does not have", key, section)
	g.close(&closing{Why: why, At: ir.Part{Kind: ir.PartClosed, Object: key, Field: "spec.targetRefs"}}, p.Invalid || policy.SetsForStreams(p.Attached.Spec))
}

// protects reports whether a policy may protect its targets. Nobody knows what an invalid policy was to do.
func (p *policyOut) protects() bool {
	return p.Attached != nil && (p.Invalid || policy.Protects(p.Attached.Spec))
}

// write records the identity headers of a policy. The parameter headers is nil if the policy writes none.
func (g *gathering) write(headers *written) {
	if headers != nil && !slices.Contains(g.writes, headers) {
		g.writes = append(g.writes, headers)
	}
}

// attach adds the policies that apply to one section of an object: a rule of a route, or a listener. They are the
// policies that target the section, and the policies that target the whole object. The parameter policies has the
// policies that target the object or any of its sections, sections are the names of all of them, and kind is the kind of
// the policies, for the message. The rules answer 500 in two cases: If too many policies apply, attach adds none but their
// identity headers. If a policy that protects names a section that the object does not have, nobody knows which one it
// means.
func (g *gathering) attach(policies *attachments, section string, sections []string, kind string) {
	if crowded := policies.closing(kind, section); crowded != nil {
		g.close(crowded, true)
		for _, one := range policies.Aims {
			g.write(g.get(one.Policy).Written)
		}
		return
	}
	for _, one := range policies.Aims {
		for _, target := range one.Targets {
			switch {
			case target.Section == "":
				g.add(one.Policy, policy.ByObject)
			case target.Section == section:
				g.add(one.Policy, policy.BySection)
			case target.Name != "" && !slices.Contains(sections, target.Section):
				g.closeForLost(one.Policy, target.Section)
			}
		}
	}
}
