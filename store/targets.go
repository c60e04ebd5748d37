package store

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/api"
)

// maxTargets is how many targets of a policy a message names.
const maxTargets = 5

// kindBackendTLSPolicy is the one policy of the Gateway API's own group.
const kindBackendTLSPolicy = "BackendTLSPolicy"

// untargeted warns of a policy that is not taken: nothing else shows its targets
// that they have lost it. ok is false for what is no policy, or names no target.
func (k *kind) untargeted(object map[string]any) (p Problem, ok bool) {
	spec, _ := object["spec"].(map[string]any)
	refs, _ := spec["targetRefs"].([]any)
	if !k.policy() || len(refs) == 0 {
		return p, false
	}
	var targets []string
	for _, ref := range refs[:min(len(refs), maxTargets)] {
		targets = append(targets, target(ref))
	}
	if more := len(refs) - maxTargets; more > 0 {
		targets = append(targets, fmt.Sprintf("%d more", more))
	}
	hint := "mend it"
	switch k.name {
	case api.KindTrafficPolicy:
		hint += "; a rule that names a missing policy by ExtensionRef is closed, one that is a target serves without it"
	case kindBackendTLSPolicy:
		hint += "; back ends that miss it are sent clear text"
	}
	return Problem{
		Code: "PolicyNotInForce", Severity: Warning, Field: "spec.targetRefs",
		Message: fmt.Sprintf("with these mistakes the policy is not taken: its last sound version goes on, and without one it is missing at %s", strings.Join(targets, ", ")),
		Hint:    hint,
	}, true
}

// policy tells whether objects of the kind are policies.
func (k *kind) policy() bool {
	return k.name == kindBackendTLSPolicy || k.name == api.KindTrafficPolicy || k.name == api.KindBackendConfigPolicy
}

// target names what a targetRef is for, as far as it can be read.
func target(ref any) string {
	fields, _ := ref.(map[string]any)
	text := func(name string) string {
		value, _ := fields[name].(string)
		return clean(value)
	}
	name := strings.TrimSpace(text("kind") + " " + text("name"))
	if section := text("sectionName"); section != "" {
		name += "#" + section
	}
	return name
}
