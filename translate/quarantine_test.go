package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// parts returns everything in the tables that Envoy could reject.
func (w *world) parts(t testing.TB) []translate.RejectedPart {
	t.Helper()
	var out []translate.RejectedPart
	for _, at := range slices.Sorted(maps.Keys(w.resources)) {
		u := w.resources[at]
		if u.Type != xds.RouteType {
			continue
		}
		for _, piece := range xds.Pieces(u.Resource.Body) {
			part := translate.RejectedPart{Route: piece.Route, Sum: piece.Sum()}
			if piece.Route == "" {
				part.Table, part.Host = u.Name, piece.Host
			}
			out = append(out, part)
		}
	}
	return out
}

// refuse makes set the quarantine.
func (w *world) refuse(set translate.Quarantine) {
	w.quarantine = set
	w.translator.Quarantine(set)
	w.hear(w.translator.Apply(store.Change{}))
}

// What answers 500 for want of a newer Envoy was rejected by none, and does not say so.
func TestWhatAnEnvoyIsTooOldForIsNotCalledRejected(t *testing.T) {
	w := newWorld(t)
	w.apply(tree(map[string]string{"a.yaml": quarantined}))
	for _, part := range w.parts(t) {
		for lacks, want := range map[ir.Field]string{"": "an Envoy rejected the ", "extAuth": "an Envoy is too old for the "} {
			w.refuse(translate.Quarantine{part: {Words: "these words", Lacks: lacks}})
			var said []string
			for _, host := range w.view().Gateways[0].Ports[0].Hosts {
				for rule := range host.Rules {
					if r := rule.Action.Respond; r != nil && strings.Contains(r.Why, "these words") {
						said = append(said, r.Why)
					}
				}
			}
			if len(said) != 1 || !strings.HasPrefix(said[0], want) {
				t.Errorf("%+v, lacking %q: %q, want %q", part, lacks, said, want)
			}
		}
	}
}

// refuseSome puts some parts of the tables into quarantine, takes others out, and
// gives how many are new.
func (w *world) refuseSome(t testing.TB, r *rand.Rand) (count int) {
	set := maps.Clone(w.quarantine)
	if set == nil || r.IntN(6) == 0 {
		set = translate.Quarantine{}
	}
	parts := w.parts(t)
	for range min(len(parts), 1+r.IntN(3)) {
		part := parts[r.IntN(len(parts))]
		if part.Route == "" && r.IntN(4) > 0 {
			continue
		}
		count++
		set[part] = translate.Rejection{Match: r.IntN(3) == 0, Words: fmt.Sprint("no ", r.IntN(2))}
	}
	w.refuse(set)
	return count
}

// rules are those of the View, by what they answer themselves and their names.
func (w *world) rules() (all []string) {
	for _, host := range w.view().Gateways[0].Ports[0].Hosts {
		for rule := range host.Rules {
			status := 0
			if rule.Action.Respond != nil {
				status = int(rule.Action.Respond.Status)
			}
			all = append(all, fmt.Sprint(status, " ", rule.Name))
		}
	}
	return all
}

const quarantined = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /a}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: a.example.com}}]
  - matches: [{path: {value: /b}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example.com}}]
`

// Of a rule that every Envoy rejected, the route's status has Envoy's words, and the View has
// 500 in its place or, when its match is at fault, nothing. No resource changes, as each Envoy
// is asked. An edit of the rule ends the quarantine, and one of another rule does not.
func TestARefusedRuleAnswers500UntilItChanges(t *testing.T) {
	w := newWorld(t)
	w.apply(tree(map[string]string{"a.yaml": quarantined}))
	sound := w.text()
	parts := slices.DeleteFunc(w.parts(t), func(p translate.RejectedPart) bool { return p.Route == "" })
	set := translate.Quarantine{parts[0]: {Words: `Envoy "one": no such thing`}}
	rules, resources := w.rules(), maps.Clone(w.resources)
	w.refuse(set)
	w.checkCold(t)
	if got := w.rules(); len(got) != len(rules) || !slices.Contains(got, "500 "+parts[0].Route) {
		t.Errorf("the View has %v, before %v", got, rules)
	}
	statuses := fmt.Sprint(w.text())
	for _, want := range []string{"PartiallyInvalid", "no such thing", "RejectedByEnvoy", `it answers 500`} {
		if !strings.Contains(statuses, want) {
			t.Errorf("%q is nowhere in\n%s", want, statuses)
		}
	}
	w.refuse(translate.Quarantine{parts[0]: {Words: "no", Match: true}})
	w.checkCold(t)
	if got := w.rules(); len(got) != len(rules)-1 {
		t.Errorf("the View has %v, want one fewer than %v", got, rules)
	}
	for at, u := range w.resources {
		if u.Resource.Version != resources[at].Resource.Version {
			t.Errorf("%v changed", at)
		}
	}
	w.refuse(set)
	w.apply(tree(map[string]string{"a.yaml": strings.Replace(quarantined, "b.example.com", "c.example.com", 1)}))
	w.checkCold(t)
	if !strings.Contains(w.text(), "no such thing") {
		t.Error("an edit of another rule ended the quarantine")
	}
	w.apply(tree(map[string]string{"a.yaml": strings.Replace(quarantined, "a.example.com", "d.example.com", 1)}))
	if strings.Contains(w.text(), "no such thing") {
		t.Error("an edit of the rule did not end the quarantine")
	}
	w.apply(tree(map[string]string{"a.yaml": quarantined}))
	w.refuse(nil)
	if got := w.text(); got != sound {
		t.Errorf("without quarantine it differs at %s", firstDifference(got, sound))
	}
}

// A rule that has another form below its listener's policies, and that Envoys reject or are too old for in that form, has the
// problem, once, at the root and below: also where other Envoys serve it.
func TestWhatEnvoysSayOfARuleBelowAListenersPolicyIsAProblem(t *testing.T) {
	const folder = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: one, port: 80, protocol: HTTP}, {name: two, port: 81, protocol: HTTP}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: slow}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: eg}]
  timeouts: {request: 3s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root}
spec:
  parentRefs: [{name: eg}]
  rules:
  - {matches: [{path: {value: /a}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s1}]}
  - {matches: [{path: {value: /b}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: leaf}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: leaf}
spec:
  rules: [{matches: [{path: {value: /b}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s1}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: s1}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 80}]}}
`
	w := newWorld(t)
	w.apply(tree(map[string]string{"a.yaml": folder}))
	set := translate.Quarantine{}
	said := func(rejection translate.Rejection) (all []string) {
		for _, part := range w.parts(t) {
			if part.Route != "" {
				set[part] = rejection
			}
		}
		w.refuse(set)
		w.checkCold(t)
		for _, p := range w.problems {
			if strings.Contains(p.Message, "these words") {
				all = append(all, fmt.Sprint(p.Object.Name, " ", p.Field, " ", p.Code, " ", p.Severity))
			}
		}
		slices.Sort(all)
		return all
	}
	for _, test := range []struct {
		rejection translate.Rejection
		code      string
	}{
		{translate.Rejection{Words: "these words", Lacks: "extAuth", Some: true}, "EnvoyTooOld warning"},
		{translate.Rejection{Words: "these words", Lacks: "extAuth"}, "EnvoyTooOld error"},
		{translate.Rejection{Words: "these words"}, "RejectedByEnvoy error"},
	} {
		want := []string{"leaf spec.rules[0] " + test.code, "root spec.rules[0] " + test.code}
		if got := said(test.rejection); !slices.Equal(got, want) {
			t.Errorf("%+v: the problems are %q, want %q", test.rejection, got, want)
		}
	}
}
