package server

import (
	"fmt"

	envoyhost "github.com/gatefold/gatefold/server/host"
)

// Supervised records the states of all Envoys that run on this machine, sorted by Gateway. It
// may be called from any goroutine.
func (s *Server) Supervised(states []envoyhost.State) {
	s.locked(func() { s.verdicts.supervise(states) })
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

// absent says why the Envoy of a Gateway that this machine should run is not there; ""
// when it is, or is none of this machine.
func (v *verdicts) absent(gateway string) string {
	state, ok := v.supervised[gateway]
	if !ok || state.Phase == envoyhost.Running {
		return ""
	}
	if state.Message == "" {
		return fmt.Sprintf("Its Envoy on this machine is %v.", state.Phase)
	}
	return state.Message
}

// Alive returns once it has locked the server's state. It blocks if the server hangs.
func (s *Server) Alive() { s.locked(func() {}) }
