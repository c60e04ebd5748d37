package ir

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// Policy is a policy object of any kind, valid or not, for explain.
type Policy struct {
	Key manifest.Key
	// Targets are the objects that the policy names, and the objects that it selects by labels.
	Targets []PolicyTarget
	// Fields are the fields that a TrafficPolicy sets, as paths below spec.
	Fields []Field
	// Unusable says why the policy makes its targets fail closed. It is "" if the policy can be used.
	Unusable string
}

// PolicyTarget is one target of a Policy.
type PolicyTarget struct {
	// Object is the target. It has no name if the target is every object of its kind and namespace that has
	// Labels.
	Object  manifest.Key
	Labels  map[string]string
	Section string // "" means the whole object
	// Lost says why the policy does not apply to the target, for example because the target does not exist. It is ""
	// if there is no such reason, and for every target of an invalid TrafficPolicy.
	Lost string
	// State is the state of the policy at the target. It is "" if the state differs between rules.
	State PolicyState
	// Ports are the ports that Section selects.
	Ports []uint32
}

// PolicyState says how much of a policy is effective.
type PolicyState string

// The values of PolicyState.
const (
	InForce    PolicyState = "in-force"     // all of its fields are effective
	Merged     PolicyState = "merged"       // some fields are effective, or are merged with other policies
	Overridden PolicyState = "overridden"   // no field is effective: other policies set them
	NotInForce PolicyState = "not-in-force" // it has no effect, for example because it is invalid
)
