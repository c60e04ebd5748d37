package host

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Phase is the state of an Envoy's process.
type Phase string

// The phases.
const (
	Running   Phase = "running"
	Waiting   Phase = "waiting"    // it ended, or could not be started; it will be started again
	Draining  Phase = "draining"   // its Gateway is gone, or it is replaced
	OverLimit Phase = "over-limit" // not started: Options.MaxEnvoys others run
)

// State is the state of one Gateway's Envoy.
type State struct {
	Gateway string `json:"gateway"` // "namespace/name"
	Phase   Phase  `json:"phase"`
	// Pid is its process, 0 without one.
	Pid int `json:"pid,omitempty"`
	// Started is when the process began, or was adopted.
	Started time.Time `json:"started,omitzero"`
	// Adopted is true if an earlier gatefold started it.
	Adopted bool `json:"adopted,omitempty"`
	// Restarts counts how often this gatefold has started it again.
	Restarts int `json:"restarts"`
	// Epoch counts the hot restarts since an Envoy was started from nothing.
	Epoch int `json:"epoch,omitempty"`
	// Former is the process of the epoch before, while it answers requests that are under way.
	Former int `json:"former,omitempty"`
	// Outdated is true if the Envoy should have been replaced, and could not: Message says why.
	Outdated bool `json:"outdated,omitempty"`
	// Message says how the process ended, or why it does not start.
	Message string `json:"message,omitempty"`
}

// Wrong reports whether a person should look at the Envoy: it does not run, or is outdated.
func (s State) Wrong() bool { return s.Phase != Running || s.Outdated }

// tell stores a state, and passes on the list of all states.
func (h *Host) tell(s State) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	h.states[s.Gateway] = s
	h.told()
}

// forget removes the state of a Gateway that does not exist any more.
func (h *Host) forget(gateway string) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	delete(h.states, gateway)
	h.told()
}

func (h *Host) told() {
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

func (h *Host) sorted() []State {
	return slices.SortedFunc(maps.Values(h.states), func(a, b State) int { return cmp.Compare(a.Gateway, b.Gateway) })
}
