package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// stagedEnvoys is a folder that is served to Envoys that take small regular expressions only.
type stagedEnvoys struct {
	*folded
	guard    sync.Mutex
	problems []manifest.Problem // of frozen fleets
}

func startStagedEnvoys(t *testing.T) *stagedEnvoys {
	t.Helper()
	return startStagedEnvoysWith(t, server.Staging{})
}

func startStagedEnvoysWith(t *testing.T, staging server.Staging) *stagedEnvoys {
	t.Helper()
	s := &stagedEnvoys{}
	staging.Problems = func(problems []manifest.Problem) {
		s.guard.Lock()
		defer s.guard.Unlock()
		s.problems = problems
	}
	s.folded = startBlaming(t, server.Options{Staging: staging})
	return s
}

// canary starts an Envoy of stage canary.
func (s *stagedEnvoys) canary(node string) *envoytest.Envoy {
	s.t.Helper()
	config, err := envoy.Bootstrap(envoy.Options{XDSAddress: s.envoysAt, AdminAddress: "127.0.0.1:0", NodeID: node, NodeCluster: "default/eg", Stage: envoy.Canary})
	if err != nil {
		s.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(config), "re2.max_program_size", "re2.not_this")
	return envoytest.Start(s.t, envoytest.Options{Config: []byte(text)})
}

// has waits until an Envoy has a text in its configuration.
func (s *stagedEnvoys) has(e *envoytest.Envoy, text string) {
	s.t.Helper()
	envoytest.Wait(s.t, text+" in the configuration", func() error {
		if !strings.Contains(e.ConfigDump(), text) {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
}

// frozen waits for the one problem of a frozen fleet.
func (s *stagedEnvoys) frozen(object manifest.Key, field string, words ...string) {
	s.t.Helper()
	envoytest.Wait(s.t, "a frozen fleet", func() error {
		s.guard.Lock()
		defer s.guard.Unlock()
		if len(s.problems) != 1 || s.problems[0].Object != object || s.problems[0].Field != field {
			return fmt.Errorf("the problems are %v", s.problems)
		}
		for _, word := range words {
			if !strings.Contains(s.problems[0].Message, word) {
				return fmt.Errorf("the problem is %s", s.problems[0].Message)
			}
		}
		return nil
	})
}

// What a canary rejects reaches no other Envoy: that one serves as before, with a problem of the rule; and the
// rest of the edit goes on with the fix.
func TestAnEnvoyIsNotSentWhatTheCanaryRejects(t *testing.T) {
	s := startStagedEnvoys(t)
	s.route("a", "one.example", "")
	canary, edge := s.canary("canary-1"), s.small("edge-1")
	s.has(canary, "one.example")
	s.has(edge, "one.example")
	s.route("a", "two.example", "")
	s.has(edge, "two.example")
	s.has(canary, "two.example")

	s.route("a", "bad.example", tooBig)
	s.frozen(httpRoute("a"), "spec.rules[0]", `Envoy "canary-1" of stage canary rejected`, otherLimit, "Revision 1 is frozen: the other Envoys of default/eg stay on revision 0")
	s.route("b", "new.example", "")
	s.has(canary, "new.example")
	s.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"False"`, otherLimit)
	if said := s.says(httpRoute("a")); strings.Contains(said, otherLimit) {
		t.Errorf("the route is in quarantine, too: %s", said)
	}
	if dump := edge.ConfigDump(); !strings.Contains(dump, "two.example") || strings.Contains(dump, "bad.example") || strings.Contains(dump, "new.example") {
		t.Errorf("the other Envoy has %s", dump)
	}

	s.route("a", "three.example", "")
	s.has(edge, "three.example")
	s.has(edge, "new.example")
	s.leads("/b", "new.example")
	s.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`)
	s.guard.Lock()
	defer s.guard.Unlock()
	if len(s.problems) > 0 {
		t.Errorf("problems: %v", s.problems)
	}
}

// What all Envoys rejected before there was a canary freezes no later edit.
func TestWhatWasRejectedBeforeFreezesNothing(t *testing.T) {
	s := startStagedEnvoys(t)
	s.route("a", "one.example", "")
	edge := s.small("edge-1")
	s.has(edge, "one.example")
	s.route("bad", "bad.example", tooBig)
	s.waitFor(httpRoute("bad"), "edge-1", otherLimit)
	canary := s.canary("canary-1")
	s.has(canary, "one.example")
	s.route("a", "two.example", "")
	s.has(canary, "two.example")
	s.has(edge, "two.example")
	s.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"True"`)
}
