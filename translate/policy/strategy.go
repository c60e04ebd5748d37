package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
)

// Strategy is how the policies of a parent route are merged with those of its child routes. A shallow merge
// takes each field as a whole, from the parent or from the child. A deep merge combines the values of both, and
// prefers one of them where they contradict each other.
type Strategy uint8

// The strategies of EP-10943. If the values of a field cannot be combined (Field.join is nil), a deep strategy
// merges the field like the shallow strategy with the same preference.
const (
	ShallowMergePreferChild Strategy = iota
	ShallowMergePreferParent
	DeepMergePreferChild
	DeepMergePreferParent
	// unknownPriority is for an annotation with an unknown value. The parent wins for fields that protect requests
	// (Field.protects), and the child wins for all others.
	unknownPriority
)

// Strategies returns the allowed values of the annotation api.AnnotationPolicyPriority, indexed by Strategy.
func Strategies() []string {
	return []string{"ShallowMergePreferChild", "ShallowMergePreferParent", "DeepMergePreferChild", "DeepMergePreferParent"}
}

func (s Strategy) String() string {
	if s == unknownPriority {
		return "unknown"
	}
	return Strategies()[s]
}

// StrategyOf returns the Strategy in the annotations of a route, Gateway or ListenerSet. Without the annotation, it
// returns the default ShallowMergePreferChild and true. If the value of the annotation is unknown, it returns
// unknownPriority and false.
func StrategyOf(annotations map[string]string) (s Strategy, ok bool) {
	text, written := annotations[api.AnnotationPolicyPriority]
	if i := slices.Index(Strategies(), text); i >= 0 {
		return Strategy(i), true
	}
	if written {
		return unknownPriority, false
	}
	return ShallowMergePreferChild, true
}

// CheckStrategy returns a warning if the annotation api.AnnotationPolicyPriority of an object has an unknown value.
func CheckStrategy(object manifest.Key, annotations map[string]string) []manifest.Problem {
	if _, known := StrategyOf(annotations); known {
		return nil
	}
	return []manifest.Problem{{
		Code: schema.InvalidValue, Severity: manifest.Warning, Object: object, Field: "metadata.annotations[" + api.AnnotationPolicyPriority + "]",
		Message: fmt.Sprintf("there is no priority %q: the parent's policies win for fields that protect requests, and those of the children for all others",
			annotations[api.AnnotationPolicyPriority]),
		Hint: "write one of " + strings.Join(Strategies(), ", "),
	}}
}

// Prefers reports whether the parent's value of a field wins over those of children. The field "" stands for
// everything that is no field of policies, such as the timeouts of a route.
func (s Strategy) Prefers(field ir.Field) bool {
	switch s {
	case ShallowMergePreferParent, DeepMergePreferParent:
		return true
	case unknownPriority:
		return slices.ContainsFunc(Fields(), func(f Field) bool { return f.Name == field && f.protects.off != nil })
	}
	return false
}

// deep reports whether the strategy is a deep merge. A deep merge combines the values of parent and child, if the
// field has a join function.
func (s Strategy) deep() bool { return s == DeepMergePreferChild || s == DeepMergePreferParent }
