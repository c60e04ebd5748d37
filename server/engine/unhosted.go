package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/store/manifest"
)

// tooManyEnvoys is the code of the problem that --max-envoys leaves a Gateway without an Envoy on this machine.
const tooManyEnvoys = "TooManyEnvoys"

// unhosted has a problem for each Gateway that has no Envoy on this machine because --max-envoys is reached.
type unhosted struct {
	changed chan struct{} // capacity 1: problems has changed

	mu       sync.Mutex
	problems []manifest.Problem
}

// newUnhosted returns an unhosted without problems.
func newUnhosted() *unhosted { return &unhosted{changed: make(chan struct{}, 1)} }

// note computes the problems from the states of all Envoys of this machine. If the problems changed, it wakes the
// method run. It never waits for the pipeline.
func (u *unhosted) note(states []host.State) {
	var problems []manifest.Problem
	for _, s := range states {
		if s.Phase == host.OverLimit {
			problems = append(problems, unhostedProblem(s.Gateway))
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Equal(problems, u.problems) {
		return
	}
	u.problems = problems
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// unhostedProblem returns the problem of a Gateway without an Envoy. The parameter gateway is "namespace/name".
func unhostedProblem(gateway string) manifest.Problem {
	namespace, name, _ := strings.Cut(gateway, "/")
	return manifest.Problem{
		Code: tooManyEnvoys, Severity: manifest.Error,
		Object: manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}, Field: "metadata.name",
		Message: "this Gateway has no Envoy and serves nothing: as many Envoys run on this machine as --max-envoys allows",
		Hint:    "remove another Gateway, or raise --max-envoys",
	}
}

// run waits for changes of u.problems until ctx ends. After each change, it calls the function take with all present
// problems. Several changes in a short time may lead to only one call.
func (u *unhosted) run(ctx context.Context, take func([]manifest.Problem)) {
	for {
		select {
		case <-u.changed:
			u.mu.Lock()
			problems := u.problems
			u.mu.Unlock()
			take(problems)
		case <-ctx.Done():
			return
		}
	}
}
