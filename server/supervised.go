package server

import envoyhost "github.com/gatefold/gatefold/server/host"

// Supervised stores the states of all Envoys that this machine should run. The states must be sorted by Gateway.
// Supervised may be called from any goroutine.
func (s *Server) Supervised(states []envoyhost.State) {
	s.locked(func() { s.verdicts.supervise(states) })
}

// Alive returns after it has locked and unlocked the server's state. It blocks if the server hangs.
func (s *Server) Alive() { s.locked(func() {}) }
