package engine

import "testing"

// Nothing is said where nobody listens, and an Envoy is not told where systemd listens.
func TestWatchdogOfAnotherProcess(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "200000")
	if watchdogInterval() == 0 {
		t.Error("no watchdog without WATCHDOG_PID")
	}
	t.Setenv("WATCHDOG_PID", "1")
	if watchdogInterval() != 0 {
		t.Error("a watchdog for process 1")
	}
}
