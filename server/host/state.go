package host

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Phase is the state of the process of a Gateway's Envoy.
type Phase string

// The phases of an Envoy.
const (
	Running   Phase = "running"
	Waiting   Phase = "waiting"    // ended, or failed to start; gatefold starts it again
	Draining  Phase = "draining"   // its Gateway is removed, another Envoy replaces it, or gatefold stops
	OverLimit Phase = "over-limit" // not started, because Options.MaxEnvoys other Envoys run
)

// State is the state of one Gateway's Envoy.
type State struct {
	Gateway string `json:"gateway"` // "namespace/name"
	Phase   Phase  `json:"phase"`
	// Pid is the process id, or 0 if no process runs.
	Pid int `json:"pid,omitempty"`
	// Started is when gatefold started the process. For an adopted process, it is the time in its run file.
	Started time.Time `json:"started,omitzero"`
	// Adopted is true if an earlier gatefold started the process.
	Adopted bool `json:"adopted,omitempty"`
	// Restarts is how often this gatefold started the Envoy again.
	Restarts int `json:"restarts"`
	// Epoch is Envoy's restart epoch: the number of hot restarts since the first start.
	Epoch int `json:"epoch,omitempty"`
	// Former is the process id of the previous epoch while it still answers open requests, or 0.
	Former int `json:"former,omitempty"`
	// Outdated is true if the Envoy should have been replaced, and the replacement failed. Message has the
	// reason.
	Outdated bool `json:"outdated,omitempty"`
	// Message describes how the process ended, or why it does not start or is not replaced.
	Message string `json:"message,omitempty"`
}

// Wrong reports whether a person should look at the Envoy, because its phase is not Running or it is outdated.
func (s State) Wrong() bool { return s.Phase != Running || s.Outdated }

// setState stores the state of one Envoy, and calls Options.Changed with the states of all Envoys.
func (h *Host) setState(s State) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	h.states[s.Gateway] = s
	h.notify()
}

// forget removes the state of a Gateway's Envoy, and calls Options.Changed with the states of all other Envoys.
func (h *Host) forget(gateway string) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	delete(h.states, gateway)
	h.notify()
}

// notify calls Options.Changed with all states. The caller must have locked stateMu.
func (h *Host) notify() {
	if h.options.Changed != nil {
		h.options.Changed(h.sorted())
	}
}

// States returns the states of all Envoys, sorted by Gateway.
func (h *Host) States() []State {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	return h.sorted()
}

// sorted returns the states of all Envoys, sorted by Gateway. The caller must have locked stateMu.
func (h *Host) sorted() []State {
	return slices.SortedFunc(maps.Values(h.states), func(a, b State) int { return cmp.Compare(a.Gateway, b.Gateway) })
}
