package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// runLostTargets returns the targets of a policy that do not exist, and its selectors that select no object.
// The result is nil if there are none.
func (r *policyStatusRules) runLostTargets(c *memo.Ctx, key manifest.Key) []targetOut {
	var out []targetOut
	refs := 0
	for i, target := range r.in.aims.targets.Get(c, key) {
		if target.Name == "" {
			if objects, all := r.in.aims.objects(c, key, target, 1); len(objects) == 0 && all {
				out = append(out, targetOut{Target: target, Problem: selectsNothing(key, i-refs)})
			}
			continue
		}
		refs++
		if problem := r.lostTarget(c, target.Key(key.Namespace), target.Section); problem != nil {
			problem.Object, problem.Field = key, fmt.Sprintf("spec.targetRefs[%d].%s", i, problem.Field)
			out = append(out, targetOut{Target: target, Problem: *problem})
		}
	}
	return out
}

// lostTarget returns the problem of a policy target that does not exist, nil if the target exists. The
// parameter at is the object that the targetRef names, and section is the sectionName. The Field of the problem
// is the path below the targetRef, for example "name".
func (r *policyStatusRules) lostTarget(c *memo.Ctx, at manifest.Key, section string) *manifest.Problem {
	switch at.Kind {
	case "Gateway":
		return r.lostGateway(c, at, section)
	case kindListenerSet:
		return r.lostSet(c, at, section)
	}
	object, _ := r.in.routes.Get(c, at)
	if object == nil {
		return r.lostObject(c, at)
	}
	return lostRule(object, section)
}

// lostObject returns the problem of a target (at) that is not served: it does not exist, or is not valid.
func (r *policyStatusRules) lostObject(c *memo.Ctx, at manifest.Key) *manifest.Problem {
	absent := r.in.absentHere(c, at)
	return lostProblem("name", absent.Message, absent.Hint)
}

// lostRule returns the problem of a target whose sectionName names no rule of the route. It returns nil if
// section is "" or if the rule exists.
func lostRule(object *manifest.Object, section string) *manifest.Problem {
	names := route.Sections(object)
	if section == "" || slices.Contains(names, section) {
		return nil
	}
	return lostProblem("sectionName", fmt.Sprintf("%s has no rule named %q", object.Key, section),
		meant(section, names)+"name the rule: rules[].name")
}

// lostGateway returns the problem of a Gateway or listener that does not exist, nil if both exist. It returns
// nil for a Gateway that exists and that gatefold does not serve.
func (r *policyStatusRules) lostGateway(c *memo.Ctx, at manifest.Key, section string) *manifest.Problem {
	if _, exists := r.in.gateways.Get(c, at); !exists {
		return r.lostObject(c, at)
	}
	g := r.in.listeners.Get(c, at)
	if g == nil {
		return nil
	}
	return lostListener(at, section, g.Listeners)
}

// lostSet returns the problem of a ListenerSet or listener that does not exist, nil if both exist. It returns
// nil for a ListenerSet whose Gateway is of a class that gatefold does not serve.
func (r *policyStatusRules) lostSet(c *memo.Ctx, at manifest.Key, section string) *manifest.Problem {
	if _, exists := r.in.listenerSets.Get(c, at); !exists {
		return r.lostObject(c, at)
	}
	set := r.in.listenerSet.Get(c, at)
	if set == nil {
		return nil
	}
	return lostListener(at, section, set.Listeners)
}

// lostListener returns the problem of a policy target whose sectionName (section) names no listener. The
// parameter at is the Gateway or ListenerSet that the targetRef names; only listeners that this object defines
// count. If section is "", or if the listener exists, the result is nil.
func lostListener(at manifest.Key, section string, listeners []*listen.Listener) *manifest.Problem {
	var names []string
	for _, l := range listeners {
		if l.Owner == at {
			names = append(names, l.Name)
		}
	}
	if section == "" || slices.Contains(names, section) {
		return nil
	}
	return lostProblem("sectionName", fmt.Sprintf("%s has no listener named %q", at, section),
		meant(section, names)+"its listeners are: "+strings.Join(names, ", "))
}
