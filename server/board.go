package server

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// board holds the newest status of every object. How it is shown, with Programmed joined
// with what Envoy answered and transitions stamped, is made when somebody looks: a copy of
// every status would cost more than the status. It is guarded by Server.mu.
type board struct {
	objects  map[manifest.Key]*object
	verdicts map[string]verdict // by Gateway
	// judged are the objects that a verdict is joined with, by Gateway: itself, and its
	// ListenerSets.
	judged map[string]map[manifest.Key]struct{}
	stale  staleBoard
	feed   *StatusFeed // nil where nobody follows
	last   stamps      // that were made last
	// open are the Gateways that are not programmed. Of those in outdated, or of all
	// that are open, the verdict stands and its words may be others by now.
	open, outdated map[string]struct{}
	openOutdated   bool
	// suspended are those that stay programmed while an edit is on its way.
	suspended map[string]struct{}
}

// object is one object's status. No part of it is changed once it is stored; the fields
// are those of status.Update.
type object struct {
	generation int64
	gateway    string
	envoy      map[string]string
	status     any
	since      stamps
}

// stamps are since when the conditions of a status are what they are, in the order of
// conditionLists.
type stamps []metav1.Time

// sight is an object's status at one moment. What it shows is made without a lock.
type sight struct {
	object
	verdict  verdict
	stale    *store.Stale   // nil where the newest version is served
	policies []manifest.Key // the stale ones that have it as their target
}

func newBoard() board {
	return board{
		objects: map[manifest.Key]*object{}, verdicts: map[string]verdict{}, judged: map[string]map[manifest.Key]struct{}{},
		open: map[string]struct{}{}, outdated: map[string]struct{}{}, suspended: map[string]struct{}{},
	}
}

// sees returns what is known of an object now; ok is false for one without a status that is
// not stale either.
func (b *board) sees(key manifest.Key) (seen sight, ok bool) {
	stale := b.stale.objects[key]
	o := b.objects[key]
	if o == nil {
		return sight{stale: stale, policies: b.stale.policies[key]}, stale != nil
	}
	return sight{*o, b.verdicts[o.gateway], stale, b.stale.policies[key]}, true
}

// keys returns every object that sees knows, in no order.
func (b *board) keys() iter.Seq[manifest.Key] {
	return func(yield func(manifest.Key) bool) {
		for key := range b.objects {
			if !yield(key) {
				return
			}
		}
		for key := range b.stale.objects {
			if b.objects[key] == nil && !yield(key) {
				return
			}
		}
	}
}

// set takes over a status that is new at now.
func (b *board) set(u status.Update, now time.Time) {
	before, known := b.sees(u.Key)
	if known && before.gateway != u.Gateway {
		delete(b.judged[before.gateway], u.Key)
		if len(b.judged[before.gateway]) == 0 {
			delete(b.judged, before.gateway)
		}
	}
	if u.Status == nil {
		b.feed.note(u.Key)
		delete(b.objects, u.Key)
		if gateway, ok := gatewayOf(u.Key); ok {
			b.forget(gateway)
		}
		return
	}
	if u.Gateway != "" {
		if b.judged[u.Gateway] == nil {
			b.judged[u.Gateway] = map[manifest.Key]struct{}{}
		}
		b.judged[u.Gateway][u.Key] = struct{}{}
	}
	b.objects[u.Key] = &object{generation: u.Generation, gateway: u.Gateway, envoy: u.Envoy, status: u.Status}
	b.stamp(u.Key, before, now)
}

// judge makes the verdict part of the status of every object that it is joined with.
func (b *board) judge(gateway string, v verdict) {
	before := map[manifest.Key]sight{}
	for key := range b.judged[gateway] {
		before[key], _ = b.sees(key)
	}
	b.verdicts[gateway] = v
	delete(b.outdated, gateway)
	if delete(b.open, gateway); v.status != metav1.ConditionTrue {
		b.open[gateway] = struct{}{}
	}
	now := time.Now()
	for key, seen := range before {
		b.stamp(key, seen, now)
	}
}

// forget forgets the verdict on a Gateway.
func (b *board) forget(gateway string) {
	delete(b.verdicts, gateway)
	delete(b.open, gateway)
	delete(b.outdated, gateway)
	delete(b.suspended, gateway)
}

// outdate notes that the words of a verdict may be others by now.
func (b *board) outdate(gateway string) {
	b.outdated[gateway] = struct{}{}
	if len(b.judged[gateway]) > 0 {
		b.feed.note()
	}
}

// outdateOpen is outdate for all Gateways that are not programmed.
func (b *board) outdateOpen() {
	b.openOutdated = len(b.open) > 0
	if b.openOutdated && len(b.judged) > 0 {
		b.feed.note()
	}
}

// knows reports whether a Gateway has a status.
func (b *board) knows(gateway string) bool { return b.objects[ir.GatewayKey(gateway)] != nil }

// stamp notes since when the conditions of an object that was seen as before are as they
// are. Objects whose stamps are those of the last one share them: at a start, all do.
func (b *board) stamp(key manifest.Key, before sight, now time.Time) {
	seen, _ := b.sees(key)
	since := seen.stamps(before, now)
	if slices.Equal(since, b.last) {
		since = b.last
	}
	b.last = since
	b.objects[key].since = since
	b.feed.note(key)
}

// stamps returns the transition times: that of before while the status is the same.
func (s sight) stamps(before sight, now time.Time) (since stamps) {
	old := map[string][]metav1.Condition{}
	for _, list := range conditionLists(before.show()) {
		old[list.name] = list.conditions
	}
	for _, list := range conditionLists(s.joined()) {
		for _, c := range list.conditions {
			at := slices.IndexFunc(old[list.name], func(o metav1.Condition) bool {
				return o.Type == c.Type && o.Status == c.Status
			})
			if at >= 0 {
				since = append(since, old[list.name][at].LastTransitionTime)
			} else {
				since = append(since, metav1.NewTime(now))
			}
		}
	}
	return since
}

// show makes the status as it is shown; nil of nothing. It is the caller's own.
func (s sight) show() any {
	shown := s.joined()
	i := 0
	for _, list := range conditionLists(shown) {
		for j := range list.conditions {
			list.conditions[j].LastTransitionTime = s.since[i]
			i++
		}
	}
	return shown
}

// joined copies the status and replaces the conditions that only Envoy can decide.
func (s sight) joined() any {
	fresh := copyStatus(s.status)
	if s.gateway == "" {
		return fresh
	}
	for _, list := range conditionLists(fresh) {
		for i := range list.conditions {
			c := &list.conditions[i]
			if c.Type == string(gwv1.GatewayConditionProgrammed) && c.Status == metav1.ConditionUnknown &&
				c.Reason == string(gwv1.GatewayReasonPending) {
				now := s.verdict.of(s.object, list.name)
				c.Status, c.Reason, c.Message = now.status, now.reason, now.message
			}
		}
	}
	return fresh
}

// copyStatus copies a status deeply, so that its conditions may be changed.
func copyStatus(status any) any {
	switch s := status.(type) {
	case nil:
		return nil
	case *gwv1.GatewayClassStatus:
		return s.DeepCopy()
	case *gwv1.GatewayStatus:
		return s.DeepCopy()
	case *gwv1.ListenerSetStatus:
		return s.DeepCopy()
	case *gwv1.RouteStatus:
		return s.DeepCopy()
	case *gwv1.PolicyStatus:
		return s.DeepCopy()
	case *api.GatewayExtensionStatus:
		return s.DeepCopy()
	}
	panic(fmt.Sprintf("status of an unknown type %T", status))
}

// conditionList is a list of conditions of a status, under a name that stays the same
// from one status to the next.
type conditionList struct {
	name       string
	conditions []metav1.Condition
}

// conditionLists returns every list of conditions of a status.
func conditionLists(status any) (lists []conditionList) {
	switch s := status.(type) {
	case *gwv1.GatewayClassStatus:
		lists = append(lists, conditionList{"", s.Conditions})
	case *gwv1.GatewayStatus:
		lists = append(lists, conditionList{"", s.Conditions})
		for _, l := range s.Listeners {
			lists = append(lists, conditionList{string(l.Name), l.Conditions})
		}
	case *gwv1.ListenerSetStatus:
		lists = append(lists, conditionList{"", s.Conditions})
		for _, l := range s.Listeners {
			lists = append(lists, conditionList{string(l.Name), l.Conditions})
		}
	case *gwv1.RouteStatus:
		for _, p := range s.Parents {
			lists = append(lists, conditionList{refName(p.ParentRef), p.Conditions})
		}
	case *api.GatewayExtensionStatus:
		lists = append(lists, conditionList{"", s.Conditions})
	case *gwv1.PolicyStatus:
		for _, a := range s.Ancestors {
			lists = append(lists, conditionList{refName(a.AncestorRef), a.Conditions})
		}
	}
	return lists
}

func refName(ref gwv1.ParentReference) string {
	name, err := json.Marshal(ref)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(name)
}
