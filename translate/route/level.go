package route

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Level is what one delegating rule sets for all below it.
type Level struct {
	Action ir.Action // header changes, rewrite, CORS, mirrors, timeouts, retry
	// PreferParent lets this level's values win over those below, as the
	// annotation of its route says (EP-10943, inherited-policy-priority).
	PreferParent bool
	// Closed tells that the rule cannot do what it says: all below answers 500.
	Closed bool
}

// prefersParent reads the annotation: two of the four values prefer the parent.
func prefersParent(object *manifest.Object) bool {
	value := object.Value.GetAnnotations()[policyPriority]
	return value == "ShallowMergePreferParent" || value == "DeepMergePreferParent"
}

// underLevels gives a rule's action with what the rules above it set, merged
// from the nearest to the root (docs/design/kgateway.md#native-fields-and-filters-of-a-parent-rule): fields that both
// sides set go to the preferred side, header changes of the preferred side run
// last, mirrors are collected.
func underLevels(action ir.Action, levels []Level) ir.Action {
	for _, level := range slices.Backward(levels) {
		if level.Closed {
			return ir.Action{Respond: &ir.Respond{Status: 500}}
		}
		first, second := action, level.Action
		if level.PreferParent {
			first, second = second, first
		}
		action = preferred(action, first, second)
		action.Mirrors = slices.Concat(action.Mirrors, level.Action.Mirrors)
		action.Parts = inForce(action, first, second)
	}
	return action
}

// preferred sets in action the fields that can be inherited: first's if set,
// else second's. Timeouts and retry are settled one by one.
func preferred(action, first, second ir.Action) ir.Action {
	action.RequestTimeout = either(first.RequestTimeout, second.RequestTimeout)
	action.BackendTimeout = either(first.BackendTimeout, second.BackendTimeout)
	action.Retry = either(first.Retry, second.Retry)
	action.CORS = either(first.CORS, second.CORS)
	action.RequestHeaders = second.RequestHeaders.Then(first.RequestHeaders)
	action.ResponseHeaders = second.ResponseHeaders.Then(first.ResponseHeaders)
	if action.Redirect == nil {
		action.Rewrite = preferredRewrite(first.Rewrite, second.Rewrite)
	}
	return action
}

// inForce gives the parts of both sides that show in the merged action.
func inForce(merged, first, second ir.Action) []ir.Part {
	shows := func(part ir.Part) bool {
		switch part.Kind {
		case ir.PartRetry:
			return first.Retry == nil
		case string(gwv1.HTTPRouteFilterCORS):
			return first.CORS == nil
		case ir.PartTimeouts:
			return merged.RequestTimeout != first.RequestTimeout || merged.BackendTimeout != first.BackendTimeout
		case string(gwv1.HTTPRouteFilterURLRewrite):
			return merged.Rewrite != nil && (first.Rewrite == nil || *merged.Rewrite != *first.Rewrite)
		}
		return true
	}
	out := slices.Clone(first.Parts)
	for _, part := range second.Parts {
		if shows(part) {
			out = append(out, part)
		}
	}
	return out
}

func either[T any](first, second *T) *T {
	if first != nil {
		return first
	}
	return second
}

func preferredRewrite(first, second *ir.Rewrite) *ir.Rewrite {
	if first == nil || second == nil {
		return either(first, second)
	}
	merged := *first
	if merged.Hostname == "" {
		merged.Hostname = second.Hostname
	}
	merged.Path = either(first.Path, second.Path)
	return &merged
}
