package xds

import (
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// CheckExtras returns the problems of a policy's settings: what Envoy would reject, header changes that gatefold does
// not allow (see changedName and checkIdentities), and, as warnings, settings that do not do what the policy says.
// The problems name fields of the policy. Policies without errors may be merged, and the result needs no other check.
// The parameter policy is the origin of the policy.
func CheckExtras(policy *ir.Origin, extras *ir.Extras) []manifest.Problem {
	c := checker{rule: &ir.Rule{Source: policy}}
	for _, f := range policyFields() {
		if f.check != nil {
			f.check(&c, extras)
		}
	}
	checkIdentities(&c, extras)
	if !hasErrors(c.problems) {
		c.messages(extras)
	}
	return c.problems
}

// messages checks the messages that configure Envoy's filters for extras. If a message violates the constraints of
// its type, so that Envoy would reject it, messages adds a problem.
func (c *checker) messages(extras *ir.Extras) {
	for _, filter := range configurable() {
		c.message(filter.config(extras, ofRoute))
		if filter.service != nil {
			c.message(filter.service(extras))
		}
	}
}

// message checks the parameter config, which is the configuration of a filter. If config violates the constraints of
// its type, so that Envoy would reject it, message adds a problem. If config is nil, message does nothing.
func (c *checker) message(config message) {
	if config == nil {
		return
	}
	if err := config.ValidateAll(); err != nil {
		c.reject("spec", "Envoy does not accept this object: "+strings.ReplaceAll(err.Error(), "\n", "; "), "change the named value")
	}
}
