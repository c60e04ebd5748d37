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

// noted has the present problems of one sort that come from outside of the folder: Gateways without an Envoy on this
// machine, or Envoys with published vulnerabilities. Whoever finds them never waits for the pipeline.
type noted struct {
	changed chan struct{} // capacity 1: problems has changed

	mu       sync.Mutex
	problems []manifest.Problem
}

// newNoted returns a noted without problems.
func newNoted() *noted { return &noted{changed: make(chan struct{}, 1)} }

// note stores the present problems. If they changed, it wakes the method run. It never waits for the pipeline.
func (n *noted) note(problems []manifest.Problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Equal(problems, n.problems) {
		return
	}
	n.problems = problems
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// run waits for changes of n.problems until ctx ends. After each change, it calls the function take with all present
// problems. Several changes in a short time may lead to only one call.
func (n *noted) run(ctx context.Context, take func([]manifest.Problem)) {
	for {
		select {
		case <-n.changed:
			n.mu.Lock()
			problems := n.problems
			n.mu.Unlock()
			take(problems)
		case <-ctx.Done():
			return
		}
	}
}

// unhostedProblems returns a problem for each Gateway that has no Envoy on this machine because --max-envoys is
// reached. The parameter states has the states of all Envoys of this machine.
func unhostedProblems(states []host.State) (problems []manifest.Problem) {
	for _, s := range states {
		if s.Phase == host.OverLimit {
			problems = append(problems, unhostedProblem(s.Gateway))
		}
	}
	return problems
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
