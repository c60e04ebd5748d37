package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	envoyhost "github.com/gatefold/gatefold/server/host"
)

// update is called after the state of a stream may have changed. It stores the new state in st.state, and updates
// the counts of what the Envoy rejects (scope.tally). If the stream has just become idle (nothing to send, no answer
// awaited), or the number of rejections changed, update adds st.scope to v.touched. This scope is the group of Envoys
// that the stream belongs to: those of one Gateway, or those that serve all Gateways. Finally, update judges the
// Gateways in v.touched (judgeTouched).
func (v *verdicts) update(st *stream) {
	was, now := st.state, st.State()
	st.setIdle(now.Idle)
	st.state = now
	st.revision = v.heldBy(st)
	v.object(st)
	if st.canary {
		v.canaries()
	}
	if now.Idle && !was.Idle || now.Rejections != was.Rejections {
		v.touched[st.scope] = struct{}{}
	}
	v.judgeTouched()
}

// judgeTouched decides again whether the Gateways in v.touched are programmed, because the counts of rejections and
// answers (scope.tally) changed. Then it empties v.touched.
//
// v.touched may also have v.union, the scope of the Envoys that serve all Gateways. No Gateway becomes programmed
// while one of these Envoys is busy, which means that it has not answered yet. So there are two cases:
//   - If one of these Envoys is still busy, judgeTouched marks the messages of all Gateways that are not programmed
//     (v.open) as outdated.
//   - Otherwise it judges the Gateways that may have waited for these Envoys: all in v.open and v.suspended.
func (v *verdicts) judgeTouched() {
	_, all := v.touched[v.union]
	delete(v.touched, v.union)
	for c := range v.touched {
		v.judge(c, false)
	}
	clear(v.touched)
	if !all {
		return
	}
	if v.union.tally.busy > 0 {
		v.outdateOpen()
		return
	}
	for _, waiting := range []map[string]struct{}{v.open, v.suspended} {
		for gateway := range waiting {
			v.judge(v.scopeOf(gateway), false)
		}
	}
}

// judge decides whether the Gateway of c is programmed. If this is the first verdict, or if the status, the reason
// or the listeners that cannot be bound changed, judge stores the new verdict, and logs what is new in it. If none
// of these changed and the Gateway is not programmed, it marks the message as outdated. The parameter listeners is
// true if the Gateway's listeners have just changed. If listeners is false, a programmed Gateway stays programmed
// while Envoys have not answered an edit, because the condition Programmed is about listeners.
func (v *verdicts) judge(c *scope, listeners bool) {
	before, judged := v.given[c.name]
	now := v.standing(c)
	if now.waits && before.Status == metav1.ConditionTrue && !listeners {
		v.suspended[c.name] = struct{}{}
		return
	}
	delete(v.suspended, c.name)
	if !judged || !now.of(before) {
		verdict := v.verdict(c.name)
		v.set(c.name, verdict)
		v.announced.announce(c.name, verdict)
		return
	}
	if _, outdated := v.outdated[c.name]; outdated || now.status != metav1.ConditionTrue {
		v.outdate(c.name)
	}
}

// refresh computes the messages of outdated verdicts again. If more than the message of a verdict would change,
// refresh skips the verdict, because judge will replace it. The board calls refresh before it shows verdicts.
func (v *verdicts) refresh() {
	for gateway := range v.inQuestion() {
		before, judged := v.given[gateway]
		if !judged || !v.standing(v.scopeOf(gateway)).of(before) {
			continue // judge replaces the verdict after its Envoys have answered
		}
		if now := v.verdict(gateway); now.Equal(before) {
			delete(v.outdated, gateway)
		} else {
			v.set(gateway, now)
		}
	}
}

// supervise stores the states of the Envoys that this machine should run. It judges a Gateway again if the state of
// its Envoy on this machine changed.
func (v *verdicts) supervise(states []envoyhost.State) {
	before := v.supervised
	v.supervised, v.supervisedList = map[string]envoyhost.State{}, states
	for _, state := range states {
		v.supervised[state.Gateway] = state
	}
	for gateway, c := range v.scopes {
		if before[gateway] != v.supervised[gateway] {
			v.judge(c, false)
		}
	}
}
