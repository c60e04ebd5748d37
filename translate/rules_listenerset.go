package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
)

const kindListenerSet = "ListenerSet"

func (r *gatewayRules) declareListenerSets(e *memo.Engine) {
	r.listenerSet = memo.NewRule(e, "listenerset", r.runListenerSet, deepEqual)
	memo.Each(r.listenerSet, r.in.listenerSets)
	r.joined = memo.NewFold[string, manifest.Key, *listen.Set](e, "joined", gather[manifest.Key](listen.CompareSets), memo.Ordered[*listen.Set].Same)
	memo.From(r.joined, r.listenerSet, func(key manifest.Key, s *listen.Set, yield func(memo.Place[string, manifest.Key], *listen.Set)) {
		if s != nil && s.Refused.Good() {
			yield(memo.Place[string, manifest.Key]{Key: s.Gateway, ID: key}, s)
		}
	}, identical)
}

// runListenerSet returns nil for a set of a Gateway that is not ours.
func (r *gatewayRules) runListenerSet(c *memo.Ctx, key manifest.Key) *listen.Set {
	object, ok := r.in.listenerSets.Get(c, key)
	if !ok {
		return nil
	}
	parent, exists := r.in.gateways.Get(c, listen.ParentOf(object))
	if exists {
		gateway, _ := manifest.As[*gwv1.Gateway](parent)
		if !r.in.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
			return nil
		}
	}
	return listen.ReadSet(object, parent, listen.SetReferences{
		Bound:  r.in.bound.Get(c, key.Namespace),
		Labels: func() map[string]string { return r.in.namespaceLabels(c, key.Namespace) },
		Absent: func(gateway manifest.Key) string { return r.in.absent(c, gateway, "parentRef") },
		Certificate: func(ref gwv1.SecretObjectReference) listen.Certificate {
			return r.in.certificate.Get(c, refer(key, ref))
		},
	})
}

func setProblems(s *listen.Set) []manifest.Problem {
	if s == nil {
		return nil
	}
	return s.Problems
}
