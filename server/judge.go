package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	envoyhost "github.com/gatefold/gatefold/server/host"
)

// settle finds the stream's state and judges its Gateways when it matters: that
// a stream has something to do never changes a verdict by itself.
func (v *verdicts) settle(st *stream) {
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

// judgeTouched judges the Gateways whose Envoys' answers changed. An answer of an Envoy
// of all Gateways may be the last that those wait for that are not programmed.
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

// judge has the verdict on a Gateway shown when it is another; listeners tells that its
// listeners changed just now. Programmed speaks of listeners: while an edit of routes or
// backends is on its way, a Gateway stays programmed.
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

// refresh makes the messages of verdicts again where they may be others by now, for a reader of
// the board.
func (v *verdicts) refresh() {
	for gateway := range v.inQuestion() {
		before, judged := v.given[gateway]
		if !judged || !v.standing(v.scopeOf(gateway)).of(before) {
			continue // until its Envoys have answered: see judge
		}
		if now := v.verdict(gateway); now.Equal(before) {
			delete(v.outdated, gateway)
		} else {
			v.set(gateway, now)
		}
	}
}

// supervise judges the Gateways again whose Envoy on this machine does something else.
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
