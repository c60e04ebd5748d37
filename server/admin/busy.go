package admin

import (
	"fmt"
	"time"
)

// Busy says which step of a change is running. It is zero if no change is being applied.
type Busy struct {
	// Step is the running step: one of BusySteps.
	Step string
	// Took is how long the step has been running.
	Took time.Duration
	// Behind is how long the oldest change that is not applied yet has waited. It counts from the first step of
	// that change, and includes attempts that failed.
	Behind time.Duration
}

const (
	// BusyAlarm is how long a step may take, or a change may wait, before the admin pages report it.
	BusyAlarm = 10 * time.Second
	// busyUnready is how long a change may wait before /readyz is not ready: a new Envoy would get an old
	// configuration.
	busyUnready = time.Minute
)

// BusySteps returns the names of the steps between a change of the folder and its publication, in order.
func BusySteps() []string { return []string{"store", "translate", "test", "locate", "publish"} }

// Words returns a message if the running step has taken at least BusyAlarm, or if a change has waited that long.
// Otherwise it returns "".
func (b Busy) Words() string {
	if b.Step == "" || max(b.Took, b.Behind) < BusyAlarm {
		return ""
	}
	return fmt.Sprintf("gatefold has been busy with the step %s for %d s; it still serves what it served before, and later edits may wait until the step has ended",
		b.Step, int(max(b.Took, b.Behind).Seconds()))
}

// Unready returns the reason why a new Envoy should not rely on its configuration yet: a change has waited for
// at least busyUnready. Otherwise it returns "".
func (b Busy) Unready() string {
	if b.Step == "" || b.Behind < busyUnready {
		return ""
	}
	return b.Words()
}
