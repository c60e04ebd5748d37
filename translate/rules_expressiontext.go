package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

const (
	// bytesPerExpressionUnit is how many bytes of expressions of CEL cost as much as one plain Envoy route. To parse them
	// takes far longer than to read them.
	bytesPerExpressionUnit = 64
	// freeExpressionUnits is how much the expressions of one policy may cost without counting toward the limit.
	freeExpressionUnits = 8
)

// expressionTextRules count the text of the expressions of TrafficPolicies (rbac) before any is parsed. All namespaces
// have equal shares of the limit, Options.MaxCopies. Policies in files of --cluster-paths do not count.
type expressionTextRules struct {
	policies *objects
	text     *memo.Rule[manifest.Key, copies]
	tooMuch  *memo.Rule[struct{}, map[shareKey]overload]
}

func newExpressionTextRules(e *memo.Engine, policies *objects, maxCopies int) *expressionTextRules {
	r := &expressionTextRules{policies: policies}
	r.text = memo.NewRule(e, "expressiontext", r.runText, identical[copies])
	memo.EachOf(r.text, policies, func(key manifest.Key, object *manifest.Object) []manifest.Key {
		if expressionText(object).extra() == 0 {
			return nil
		}
		return []manifest.Key{key}
	})
	total := memo.NewFold[struct{}, shareKey](e, "expressiontexts", addTotal, sameTotal)
	memo.From(total, r.text, shareOfRoute, identical)
	r.tooMuch = memo.NewRule(e, "expressionsover", func(c *memo.Ctx, _ struct{}) map[shareKey]overload {
		all, _ := total.Get(c, struct{}{})
		return all.cut(maxCopies)
	}, deepEqual)
	return r
}

// runText returns what the expressions of a policy cost (see expressionText).
func (r *expressionTextRules) runText(c *memo.Ctx, key manifest.Key) copies {
	object, _ := r.policies.Get(c, key)
	return expressionText(object)
}

// expressionText returns what the text of a policy's expressions costs, in plain Envoy routes. The cost is 0 for a policy
// of cluster paths.
func expressionText(object *manifest.Object) copies {
	from, ok := manifest.As[*api.TrafficPolicy](object)
	if !ok || from.Spec.RBAC == nil || object.Source == manifest.ClusterPaths {
		return copies{}
	}
	bytes := 0
	for _, text := range from.Spec.RBAC.Policy.MatchExpressions {
		bytes += len(text)
	}
	return copies{Owner: object.Key.Namespace, Cost: bytes / bytesPerExpressionUnit, Free: freeExpressionUnits}
}

// tooManyExpressions returns a problem if the expressions of a policy exceed what is left of the limit of its namespace.
// The problem is an error under path policies, so that the expressions need not be parsed, and else a warning.
func (r *expressionTextRules) tooManyExpressions(c *memo.Ctx, object *manifest.Object) []manifest.Problem {
	if expressionText(object).extra() == 0 {
		return nil
	}
	r.text.Get(c, object.Key) // a policy counts only while a rule reads this value
	over, cut := r.tooMuch.Get(c, struct{}{})[shareKey{Root: object.Key}]
	if !cut {
		return nil
	}
	severity := manifest.Warning
	if object.Source == manifest.OtherFile {
		severity = manifest.Error
	}
	return []manifest.Problem{{
		Code: "TooManyCopies", Severity: severity, Field: "spec.rbac.policy.matchExpressions",
		Message: fmt.Sprintf("to parse the expressions costs as much as %d plain routes, one for each %d bytes; what the namespace may have beyond %d for each policy is %d",
			over.Cost, bytesPerExpressionUnit, freeExpressionUnits, over.Limit),
		Hint: "write shorter expressions, or raise --max-copies",
	}}
}
