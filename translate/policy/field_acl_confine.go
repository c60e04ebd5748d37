package policy

import (
	"net/netip"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// confineACL combines the policy field acl of a parent and a child (see Field.confine). Only addresses pass that both
// let pass. The answer to another address is that of the side that refuses it, of the parent if both do.
//
// The result has the ranges of both sides. For each of these ranges the longest range of each side that contains it
// decides, as it does in Envoy.
func confineACL(into, parent, child *api.TrafficPolicySpec) {
	c := &confinement{
		sides: [2]aclSide{newACLSide(parent.ACL), newACLSide(child.ACL)},
		known: map[netip.Prefix]bool{}, rules: map[refusal]int{},
	}
	byDefault := c.decide(netip.Prefix{})
	c.out.DefaultAction, c.out.DenyResponse = byDefault.action, c.sides[byDefault.side].acl.DenyResponse
	for _, side := range c.sides {
		for _, r := range side.order {
			c.add(r)
		}
	}
	into.ACL = &c.out
}

// confinement is the state of confineACL.
type confinement struct {
	sides [2]aclSide // the parent's, and the child's
	out   api.ACL
	known map[netip.Prefix]bool
	rules map[refusal]int // the index in out.Rules
}

// aclSide is one of the two acls that confineACL combines.
type aclSide struct {
	acl   *api.ACL
	rules map[netip.Prefix]int // the index of the rule that a range belongs to
	order []netip.Prefix       // the ranges, in the order of the acl
}

func newACLSide(acl *api.ACL) aclSide {
	out := aclSide{acl: acl, rules: map[netip.Prefix]int{}}
	for i, rule := range acl.Rules {
		for _, text := range rule.CIDRs {
			r, fault := parseCIDR(text)
			if _, twice := out.rules[r]; fault == nil && !twice {
				out.rules[r] = i
				out.order = append(out.order, r)
			}
		}
	}
	return out
}

// rule returns the index of the rule that decides about a range: that of the longest range that contains it. It
// returns -1 if the default decides, as it does for the zero Prefix, which stands for all addresses in no range.
func (s *aclSide) rule(r netip.Prefix) int {
	for bits := r.Bits(); bits >= 0; bits-- {
		wider, _ := r.Addr().Prefix(bits)
		if i, ok := s.rules[wider]; ok {
			return i
		}
	}
	return -1
}

// refusal is the decision about a range: which side takes it, by which rule. An allowed range is the child's, whose
// rules are the narrower ones.
type refusal struct {
	side, rule int
	action     api.ACLAction
}

// decide returns the decision about a range: that of the first side that denies it.
func (c *confinement) decide(r netip.Prefix) refusal {
	for i := range c.sides {
		side := &c.sides[i]
		rule := side.rule(r)
		if rule >= 0 && side.acl.Rules[rule].Action == api.ACLDeny || rule < 0 && side.acl.DefaultAction == api.ACLDeny {
			return refusal{i, rule, api.ACLDeny}
		}
	}
	return refusal{1, c.sides[1].rule(r), api.ACLAllow}
}

// wider returns the longest range of both sides that contains r and is not r itself, the zero Prefix if there is none.
func (c *confinement) wider(r netip.Prefix) netip.Prefix {
	for bits := r.Bits() - 1; bits >= 0; bits-- {
		wider, _ := r.Addr().Prefix(bits)
		for i := range c.sides {
			if _, ok := c.sides[i].rules[wider]; ok {
				return wider
			}
		}
	}
	return netip.Prefix{}
}

// add adds the decision about a range to the result, unless the next wider range has the same decision.
func (c *confinement) add(r netip.Prefix) {
	by, wider := c.decide(r), c.decide(c.wider(r))
	if c.known[r] || by == wider || by.action == api.ACLAllow && wider.action == api.ACLAllow {
		return
	}
	c.known[r] = true
	i, ok := c.rules[by]
	if !ok {
		i = len(c.out.Rules)
		c.rules[by] = i
		c.out.Rules = append(c.out.Rules, c.ruleOf(by))
	}
	c.out.Rules[i].CIDRs = append(c.out.Rules[i].CIDRs, r.String())
}

// ruleOf returns a rule of the result, without ranges.
func (c *confinement) ruleOf(by refusal) api.ACLRule {
	acl, word := c.sides[by.side].acl, ir.ACLDefault
	out := api.ACLRule{Action: by.action, Name: &word}
	response := acl.DenyResponse
	if by.rule >= 0 {
		rule := acl.Rules[by.rule]
		out.Name = rule.Name
		if rule.Response != nil {
			response = rule.Response
		}
	}
	if by.action == api.ACLDeny {
		if out.Response = response; response == nil {
			out.Response = &api.ACLDenyResponse{}
		}
	}
	return out
}
