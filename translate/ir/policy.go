package ir

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// Policy is a policy object of any kind, valid or not, for explain.
type Policy struct {
	Key manifest.Key
	// Targets are the objects that it names, and those that it selects by labels.
	Targets []PolicyTarget
	// Fields are the fields that a TrafficPolicy sets, as paths below spec.
	Fields []Field
	// Unusable says why the policy closes its targets, "" if it can be used.
	Unusable string
}

// PolicyTarget is one target of a Policy.
type PolicyTarget struct {
	// Object has no name if the target is every object of its kind and namespace that has
	// Labels.
	Object  manifest.Key
	Labels  map[string]string
	Section string // "" for the whole object
	// Lost says why the policy is not in force there, "" if the target exists.
	Lost string
	// State is the state of the policy at the target; "" if it differs from rule to rule.
	State PolicyState
	// Ports are the ports that a Section of the target means.
	Ports []uint32
}

// PolicyState is how much of a policy is effective.
type PolicyState string

// The states.
const (
	InForce    PolicyState = "in-force"     // all of its fields
	Merged     PolicyState = "merged"       // some fields, or some together with other policies
	Overridden PolicyState = "overridden"   // no field: others set them
	NotInForce PolicyState = "not-in-force" // it is invalid, or does not find its target
)
