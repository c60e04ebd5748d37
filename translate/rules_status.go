package translate

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

// problemSet holds the problems of one value of one rule.
type problemSet struct {
	id   string
	list []manifest.Problem
}

func compareSets(a, b problemSet) int { return cmp.Compare(a.id, b.id) }

func (n *network) declareStatus(e *memo.Engine) {
	n.attached = memo.NewFold[listenerKey, manifest.Key, struct{}](e, "attached", count[manifest.Key], identical[int])
	memo.From(n.attached, n.stream, func(key manifest.Key, s *streamOut, yield func(memo.Place[listenerKey, manifest.Key], struct{})) {
		attachedTo(key, s.Attach, false, yield)
	}, identical)
	memo.From(n.attached, n.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[listenerKey, manifest.Key], struct{})) {
		attachedTo(key, m.Attach, m.anyFlat().Whole, yield)
	}, identical)

	n.classStatus = memo.NewRule(e, "classstatus", n.runClassStatus, deepEqual)
	memo.Each(n.classStatus, n.in.classes)
	n.listenerSetStatus = memo.NewRule(e, "listenersetstatus", n.runListenerSetStatus, deepEqual)
	memo.Each(n.listenerSetStatus, n.in.listenerSets)
	n.gatewayStatus = memo.NewRule(e, "gatewaystatus", n.runGatewayStatus, deepEqual)
	memo.Each(n.gatewayStatus, n.in.gateways)
	n.children = memo.NewRule(e, "children", n.runChildren, deepEqual)
	memo.EachOf(n.children, n.in.routes, belowRoutes)
	n.sound = memo.NewRule(e, "sound", soundConditions, deepEqual)
	n.routeStatus = memo.NewRule(e, "routestatus", n.runRouteStatus, deepEqual)
	memo.Each(n.routeStatus, n.in.routes)
	n.invalidStatus = memo.NewRule(e, "invalidstatus", n.runInvalidStatus, deepEqual)
	memo.Each(n.invalidStatus, n.in.invalid)

	classless := memo.NewRule(e, "classless", n.classProblems, deepEqual)
	memo.Each(classless, n.in.gateways)
	n.problems = memo.NewFold[struct{}, string, []manifest.Problem](e, "problems", gatherProblems, memo.Ordered[problemSet].Same)
	problemsFrom(n.problems, "class", classless, func(list []manifest.Problem) []manifest.Problem { return list })
	problemsFrom(n.problems, "parameters", memo.Keyed[manifest.Key, *manifest.Object](n.in.classes), parameterProblems)
	problemsFrom(n.problems, "gateway", n.gateway, gatewayProblems)
	problemsFrom(n.problems, "coverage", n.coverage, (*coverage).problems)
	problemsFrom(n.problems, "listenerset", n.listenerSet, setProblems)
	problemsFrom(n.problems, "extension", n.extension, func(x *extensionOut) []manifest.Problem { return x.Problems })
	problemsFrom(n.problems, "policy", n.policy, func(p *policyOut) []manifest.Problem { return p.Problems })
	problemsFrom(n.problems, "policytargets", n.lost, func(list []targetOut) (problems []manifest.Problem) {
		for _, lost := range list {
			problems = append(problems, lost.Problem)
		}
		return problems
	})
	problemsFrom(n.problems, "backendpolicy", n.backendPolicy, func(p *backendPolicyOut) []manifest.Problem { return p.Problems })
	problemsFrom(n.problems, "backendtargets", n.backendTargets, lostTargets)
	problemsFrom(n.problems, "tlspolicy", n.tlsPolicy, func(p *tlsPolicyOut) []manifest.Problem { return p.Problems })
	problemsFrom(n.problems, "tlstargets", n.tlsTargets, tlsTargetProblems)
	problemsFrom(n.problems, "cluster", n.cluster, (*clusterOut).problems)
	problemsFrom(n.problems, "policies", n.policies, func(l *levelOut) []manifest.Problem { return l.Problems })
	problemsFrom(n.problems, "attach", n.admitted, func(a *attachOut) []manifest.Problem { return a.Problems })
	problemsFrom(n.problems, "won", n.won, winProblems)
	problemsFrom(n.problems, "stream", n.stream, func(s *streamOut) []manifest.Problem { return s.Problems })
	problemsFrom(n.problems, "losses", n.losses, lossProblems)
	problemsFrom(n.problems, "overload", n.overload, overloadProblems)
	problemsFrom(n.problems, "children", n.children, func(l *childrenOut) []manifest.Problem { return l.Problems })
	problemsFrom(n.problems, "graft", n.graft, func(g *graftOut) []manifest.Problem { return g.Problems })
	problemsFrom(n.problems, "host", n.host, onePathProblems)
	problemsFrom(n.problems, "shadowed", n.shadowed, shadowProblems)
	problemsFrom(n.problems, "flat", n.flat, func(f *flatOut) []manifest.Problem { return f.Problems })
}

// statuses are the rules whose values are statuses.
func (n *network) statuses() []*memo.Rule[manifest.Key, *status.Update] {
	return []*memo.Rule[manifest.Key, *status.Update]{n.classStatus, n.gatewayStatus, n.listenerSetStatus, n.routeStatus, n.policyStatus, n.backendPolicyStatus, n.tlsPolicyStatus, n.extensionStatus, n.invalidStatus}
}

// count is the step of a fold that counts its members.
func count[ID comparable](n int, members []memo.Member[ID, struct{}]) int {
	for _, m := range members {
		switch {
		case !m.Had:
			n++
		case !m.Has:
			n--
		}
	}
	return n
}

func gatewayProblems(g *listen.Gateway) []manifest.Problem {
	if g == nil {
		return nil
	}
	return g.Problems
}

type problemFold = memo.Fold[struct{}, string, []manifest.Problem, memo.Ordered[problemSet]]

// problemsFrom makes the problems in the values of a rule members of the fold.
func problemsFrom[K comparable, V any](f *problemFold, name string, of memo.Keyed[K, V], list func(V) []manifest.Problem) {
	memo.From(f, of, func(key K, value V, yield func(memo.Place[struct{}, string], []manifest.Problem)) {
		if problems := list(value); len(problems) > 0 {
			yield(memo.Place[struct{}, string]{ID: fmt.Sprint(name, " ", key)}, problems)
		}
	}, deepEqual)
}

func gatherProblems(sets memo.Ordered[problemSet], members []memo.Member[string, []manifest.Problem]) memo.Ordered[problemSet] {
	if sets.Len() == 0 {
		sets = memo.NewOrdered(compareSets)
	}
	for _, m := range members {
		if m.Has {
			sets = sets.Insert(problemSet{m.ID, m.New})
		} else {
			sets = sets.Delete(problemSet{id: m.ID})
		}
	}
	return sets
}

// runClassStatus gives nil for a class of another controller.
func (n *network) runClassStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := n.in.classes.Get(c, key)
	if !ok || !n.class.Get(c, key.Name).Ours {
		return nil
	}
	generation := object.Value.GetGeneration()
	return &status.Update{Key: key, Generation: generation, Status: &gwv1.GatewayClassStatus{
		Conditions:        []metav1.Condition{status.ClassAccepted(generation, classVerdict(object))},
		SupportedFeatures: status.Features(),
	}}
}

func (n *network) runGatewayStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	g := n.gateway.Get(c, key)
	if g == nil {
		return nil
	}
	out := &gwv1.GatewayStatus{Conditions: []metav1.Condition{status.GatewayAccepted(g), status.GatewayProgrammed(g)}}
	out.Conditions = append(out.Conditions, status.GatewayTLS(g)...)
	kind := gwv1.IPAddressType
	for _, address := range g.Bound() {
		out.Addresses = append(out.Addresses, gwv1.GatewayStatusAddress{Type: &kind, Value: address})
	}
	if count, allowed := g.AttachedSets(); allowed {
		out.AttachedListenerSets = &count
	}
	own := g.Part(key)
	for _, l := range own.Named() {
		attached, _ := n.attached.Get(c, listenerKey{g.Name, l.ID()})
		out.Listeners = append(out.Listeners, gwv1.ListenerStatus{
			Name: gwv1.SectionName(l.Name), SupportedKinds: l.Kinds, AttachedRoutes: int32(attached),
			Conditions: n.listenerConditions(c, g.Name, l, g.Generation),
		})
	}
	return &status.Update{Key: key, Generation: g.Generation, Gateway: g.Name, Envoy: own.EnvoyNames(), Status: out}
}

// runListenerSetStatus gives nil for a set of a Gateway that is not ours.
func (n *network) runListenerSetStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	set := n.listenerSet.Get(c, key)
	if set == nil {
		return nil
	}
	out := &gwv1.ListenerSetStatus{}
	update := &status.Update{Key: key, Generation: set.Generation, Gateway: set.Gateway, Status: out}
	part := n.part.Get(c, partKey{set.Gateway, key})
	out.Conditions = []metav1.Condition{status.SetAccepted(set, part), status.SetProgrammed(set, part)}
	if !set.Refused.Good() || part == nil {
		return update
	}
	update.Envoy = part.EnvoyNames()
	for _, l := range part.Named() {
		attached, _ := n.attached.Get(c, listenerKey{set.Gateway, l.ID()})
		out.Listeners = append(out.Listeners, gwv1.ListenerEntryStatus{
			Name: gwv1.SectionName(l.Name), SupportedKinds: l.Kinds, AttachedRoutes: int32(attached),
			Conditions: n.listenerConditions(c, set.Gateway, l, set.Generation),
		})
	}
	return update
}
