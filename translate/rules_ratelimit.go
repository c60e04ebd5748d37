package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// limitBudget is what a service of rateLimit.global counts by itself: requests with one descriptor in one domain.
// Equal limitBudgets are one budget, whichever policies and GatewayExtensions name it.
type limitBudget struct {
	Cluster string // of the service
	Domain  string
	// Descriptor is equal for two descriptors if Envoy can send equal ones: the same keys in the same order, with the
	// same value where a value is constant.
	Descriptor string
}

// limitBudgets returns the budget of each descriptor of rateLimit.global. It returns nil if extras do not have that
// field, or if its extension is not resolved.
func limitBudgets(extras *ir.Extras) (out []limitBudget) {
	if extras == nil || extras.GlobalLimit == nil || extras.GlobalLimit.Extension == nil {
		return nil
	}
	service := extras.GlobalLimit.Extension
	for _, descriptor := range extras.GlobalLimit.Descriptors {
		var text strings.Builder
		for _, entry := range descriptor {
			switch {
			case entry.Address:
				fmt.Fprintf(&text, "%q ", "remote_address") // the key that Envoy sends
			case entry.Header != "":
				fmt.Fprintf(&text, "%q ", entry.Key)
			default:
				fmt.Fprintf(&text, "%q=%q ", entry.Key, entry.Value)
			}
		}
		out = append(out, limitBudget{service.Service.Cluster, service.Limiter.Domain, text.String()})
	}
	return out
}

// limitSpender is a policy that spends a budget.
type limitSpender manifest.Key

func compareSpenders(a, b limitSpender) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), manifest.CompareKeys(manifest.Key(a), manifest.Key(b)))
}

// limitRules find budgets of rateLimit.global that several namespaces spend.
type limitRules struct {
	policy *memo.Rule[manifest.Key, *policyOut]
	// spenders has the policies of each budget, by namespace. spending has the first two namespaces of them.
	spenders *memo.Fold[limitBudget, limitSpender, limitSpender, ordered.Set[limitSpender]]
	spending *memo.Rule[limitBudget, [2]string]
	shared   *memo.Rule[manifest.Key, []manifest.Problem]
}

func newLimitRules(e *memo.Engine, policy *memo.Rule[manifest.Key, *policyOut]) *limitRules {
	r := &limitRules{policy: policy}
	r.spenders = memo.NewFold[limitBudget, limitSpender](e, "limitspenders", gather[limitSpender](compareSpenders), ordered.Set[limitSpender].Same)
	memo.From(r.spenders, policy, func(key manifest.Key, p *policyOut, yield func(memo.Place[limitBudget, limitSpender], limitSpender)) {
		for i, budget := range p.Budgets {
			if slices.Index(p.Budgets, budget) == i {
				yield(memo.Place[limitBudget, limitSpender]{Key: budget, ID: limitSpender(key)}, limitSpender(key))
			}
		}
	}, identical)
	r.spending = memo.NewRule(e, "limitspending", r.runSpending, identical[[2]string])
	r.shared = memo.NewRule(e, "limitshared", r.runShared, deepEqual)
	memo.EachOf(r.shared, policy, func(key manifest.Key, p *policyOut) []manifest.Key {
		if len(p.Budgets) == 0 {
			return nil
		}
		return []manifest.Key{key}
	})
	return r
}

func (r *limitRules) report(all *problemFold) {
	problemsFrom(all, "limitshared", r.shared, func(problems []manifest.Problem) []manifest.Problem { return problems })
}

// runSpending returns the first two namespaces whose policies spend a budget. The second is "" if there is only one.
func (r *limitRules) runSpending(c *memo.Ctx, key limitBudget) (out [2]string) {
	policies, _ := r.spenders.Get(c, key)
	for spender := range policies.All() {
		if out[0] == "" {
			out[0] = spender.Namespace
		} else if spender.Namespace != out[0] {
			out[1] = spender.Namespace
			break
		}
	}
	return out
}

// runShared returns a warning for each descriptor of a policy whose budget another namespace spends, too.
func (r *limitRules) runShared(c *memo.Ctx, key manifest.Key) (problems []manifest.Problem) {
	for i, budget := range r.policy.Get(c, key).Budgets {
		namespaces := r.spending.Get(c, budget)
		other := namespaces[0]
		if other == key.Namespace {
			other = namespaces[1]
		}
		if other == "" {
			continue
		}
		problems = append(problems, manifest.Problem{
			Code: "SharedBudget", Severity: manifest.Warning, Object: key, Field: fmt.Sprintf("spec.rateLimit.global.descriptors[%d]", i),
			Message: fmt.Sprintf("a policy of namespace %s sends equal descriptors to the same service, with the domain %q: requests to routes of both namespaces spend one budget", other, budget.Domain),
			Hint: fmt.Sprintf("if it is not meant, begin the descriptor with an entry of this namespace, such as {type: Generic, generic: {key: namespace, value: %s}}, and give the service a limit for it",
				key.Namespace),
		})
	}
	return problems
}
