package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	envoyhost "github.com/gatefold/gatefold/server/host"
)

// update is called after the state of a stream may have changed. It stores the new state in st.state, and updates
// the counts of what the Envoy rejects (scope.tally).
//
// A scope is a group of Envoys: those of one Gateway, or those that serve all Gateways. If the stream has just
// become idle (nothing to send, no answer awaited), or the number of rejections changed, update adds the stream's
// scope to v.touched. Finally, update calls judgeTouched, which judges the Gateways of the scopes in v.touched.
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

// judgeTouched decides again whether Gateways are programmed, because counts of rejections and answers (scope.tally)
// changed. The set v.touched has the scopes (groups of Envoys) whose counts changed. judgeTouched judges the Gateway
// of each scope in v.touched, and then empties v.touched.
//
// v.touched may also have v.union, the scope of the Envoys that serve all Gateways. While one of these Envoys has
// not answered yet, no Gateway becomes programmed. So if v.touched has v.union, there are two cases:
//   - One of these Envoys has not answered yet. Then only the messages of verdicts can change. judgeTouched marks
//     the messages of all Gateways that are not programmed (v.open) as outdated.
//   - All of these Envoys have answered. Then judgeTouched judges the Gateways that may have waited for the answers:
//     those in v.open, and those that stayed programmed meanwhile (v.suspended).
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
// of these changed and the Gateway is not programmed, judge marks the message of the stored verdict as outdated.
//
// The parameter listeners is true if the Gateway's listeners have just changed. If it is false, a programmed Gateway
// stays programmed while Envoys have not answered: the condition Programmed is about listeners, and the pending edit
// does not change them.
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
