package board

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/status"
)

// object is the published status of one object, with the fields of status.Update. After an object is stored, only
// its field since may change.
type object struct {
	generation int64
	gateway    string
	envoy      map[string]string // the name of the Envoy listener for each listener, by the listener's name
	status     any
	state      status.State
	since      stamps
}

// stamps are the transition times of the conditions of a status, in the order of conditionLists.
type stamps []metav1.Time

// sight is all that the board knows of one object at one moment. It is copied while the board is locked. From the
// copy, the caller then makes the status that users see (show), without the lock.
type sight struct {
	object
	verdict  Verdict
	stale    *store.Stale   // nil if the newest version is served
	policies []manifest.Key // the stale policies that select the object as their target
}

// word returns one word for the object: ok, stale, closed or not served.
func (s sight) word() string {
	switch {
	case s.stale != nil:
		return "stale"
	case s.state != status.OK:
		return string(s.state)
	}
	return "ok"
}

// stamps returns the transition time of each condition in the status, in the order of conditionLists. If a
// condition had the same status before the change (the parameter before), its time stays. Otherwise its time is
// now.
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

// show returns a copy of the object's status as users see it. The copy has the transition times of the conditions. A
// condition Programmed that still waits for Envoy's answer gets its content from s.verdict (see joined). The result
// is nil if the object has no status. The caller may change the result.
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

// joined returns a copy of the status with the verdict on the Gateway. Each condition Programmed that is Unknown
// with reason Pending gets the status, reason and message of the verdict. Other conditions stay as they are.
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
