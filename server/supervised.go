package server

import (
	"fmt"

	envoyhost "github.com/gatefold/gatefold/server/host"
)

// Supervised records the states of all Envoys that run on this machine, sorted by Gateway. It
// may be called from any goroutine.
func (s *Server) Supervised(states []envoyhost.State) {
	s.locked(func() {
		before := s.supervised
		s.supervised = map[string]envoyhost.State{}
		for _, state := range states {
			s.supervised[state.Gateway] = state
		}
		s.supervisedList = states
		for gateway, c := range s.scopes {
			if before[gateway] != s.supervised[gateway] {
				s.judge(c, false)
			}
		}
	})
}

// absent says why the Envoy of a Gateway that this machine should run is not there; ""
// when it is, or is none of this machine.
func (s *Server) absent(gateway string) string {
	state, ok := s.supervised[gateway]
	if !ok || state.Phase == envoyhost.Running {
		return ""
	}
	if state.Message == "" {
		return fmt.Sprintf("Its Envoy on this machine is %s.", state.Phase)
	}
	return state.Message
}

// Alive returns once it has locked the server's state. It blocks if the server hangs.
func (s *Server) Alive() { s.locked(func() {}) }
