package board

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// object is the published status of one object, with the fields of status.Update. Only since may change after
// it is stored.
type object struct {
	generation int64
	gateway    string
	envoy      map[string]string // the Envoy listener of each listener, by name
	status     any
	since      stamps
}

// stamps are the transition times of the conditions of a status, in the order of conditionLists.
type stamps []metav1.Time

// sight is all that the board knows of one object at one moment. A caller copies it while the board is locked,
// and makes the shown form of the status (show) afterwards.
type sight struct {
	object
	verdict  Verdict
	stale    *store.Stale   // nil if the newest version is served
	policies []manifest.Key // the stale policies that select the object as their target
}

// stamps returns the transition time of each condition of the status. before is the previous state of the
// object: a condition that had the same status there keeps its time. Every other condition gets the time now.
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

// show returns the status as it is shown: with the verdict and the times of transitions. It returns nil if
// there is no status. The caller may change the result.
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

// joined returns a copy of the status in which the conditions Programmed have the verdict of the Gateway's
// Envoys. It replaces status, reason and message of those that are Unknown with reason Pending.
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
				c.Status, c.Reason, c.Message = now.Status, now.Reason, now.Message
			}
		}
	}
	return fresh
}
