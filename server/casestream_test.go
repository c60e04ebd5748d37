package server_test

import (
	"fmt"
	"maps"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/expect"
)

// closedShare is how cases and connect name what nobody answers.
const closedShare = "closed"

// connect opens connections, or sends datagrams, until those that answer are the back
// ends of the line: a listener that changed counts once a worker of Envoy has it.
func (run *caseRun) connect(prefix string, r expect.Request) {
	run.t.Helper()
	want := maps.Clone(r.Backends)
	if r.Closed {
		want[closedShare] = 1
	}
	envoytest.Wait(run.t, prefix+r.Line, func() error {
		seen, err := run.answers(r, want)
		if err != nil {
			return err
		}
		for name, weight := range want {
			if (seen[name] > 0) != (weight > 0) {
				return fmt.Errorf("answers: %v", seen)
			}
			delete(seen, name)
		}
		if len(seen) > 0 {
			return fmt.Errorf("also answers: %v", seen)
		}
		return nil
	})
}

// answers counts who answers: the names of backends, and closedShare.
func (run *caseRun) answers(r expect.Request, want map[string]int) (map[string]int, error) {
	times, seen := 1, map[string]int{}
	if len(want) > 1 {
		times = 200
	}
	if r.URL.Scheme == "udp" {
		within := 10 * time.Second
		if want[closedShare] > 0 { // all of the time passes
			within = time.Second
		}
		for name, n := range envoytest.Sessions(run.t, run.addressOf(r)+":"+r.URL.Port(), times, within) {
			if name == "" {
				name = closedShare
			}
			seen[name] = n
		}
		return seen, nil
	}
	for range times {
		answer, err := envoytest.Try(run.request(r))
		switch {
		case err != nil:
			seen[closedShare]++
		case r.Certificate != "" && answer.Certificate.DNSNames[0] != r.Certificate:
			return nil, fmt.Errorf("certificate for %v", answer.Certificate.DNSNames)
		default:
			seen[answer.Backend]++
		}
	}
	return seen, nil
}
