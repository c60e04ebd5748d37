package cli

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// unitEdit is an edit of a policy and of routes in one revision, with a mistake.
type unitEdit struct {
	before, after string         // the text of the file
	want          map[string]int // paths, with the status of their answers before and after the edit
	wantNew       map[string]int // the same, of new routes: after the edit
	code          string         // of a problem after the edit
}

// routeFor returns an HTTPRoute to the backend a. The parameter more is further fields of its rule.
func routeFor(name, path, more string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: %s}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]
%s---
`, name, path, more)
}

// policyFor returns a TrafficPolicy with a password for routes.
func policyFor(name string, routes ...string) string {
	text := fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: %s}
spec:
  basicAuth: {users: ["alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="]}
`, name)
	if len(routes) > 0 {
		text += "  targetRefs:\n"
	}
	for _, route := range routes {
		text += fmt.Sprintf("  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}\n", route)
	}
	return text + "---\n"
}

const (
	filtered  = "    filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: guard}}]\n"
	mistyped  = "    nofield: 1\n"
	mistarget = "  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: none}\n---\n"
)

// unitEdits are the edits, by what they do.
func unitEdits() map[string]unitEdit {
	return map[string]unitEdit{
		"a route is renamed together with its policy's target, and has an unknown field": {
			before: routeFor("one", "/one", "") + policyFor("guard", "one"),
			after:  routeFor("two", "/one", mistyped) + policyFor("guard", "two"),
			want:   map[string]int{"/one": 401},
		},
		"a policy drops a route, and another takes it, with a mistake": {
			before: routeFor("one", "/one", "") + routeFor("two", "/two", "") + policyFor("guard", "one", "all") + policyFor("other", "two"),
			after: routeFor("one", "/one", "") + routeFor("two", "/two", "") + policyFor("guard", "all") +
				strings.TrimSuffix(policyFor("other", "two", "one"), "---\n") + mistarget,
			want: map[string]int{"/one": 401, "/two": 401},
		},
		"a policy drops a route, and another takes it, and cannot be read": {
			before: routeFor("one", "/one", "") + routeFor("two", "/two", "") + policyFor("guard", "one", "all") + policyFor("other", "two"),
			after:  routeFor("one", "/one", "") + routeFor("two", "/two", "") + policyFor("guard", "all") + strings.Replace(policyFor("other", "two", "one"), "spec:", "spec: {", 1),
			want:   map[string]int{"/one": 401, "/two": 401},
		},
		"a rule with a password in a filter moves to a new route that has an unknown field": {
			before: routeFor("one", "/one", filtered) + policyFor("guard"),
			after:  routeFor("one", "/other", "") + routeFor("two", "/one", filtered+mistyped) + policyFor("guard"),
			want:   map[string]int{"/one": 401},
		},
		"a new route, and a policy that is extended to it with a mistake": {
			before:  routeFor("one", "/one", "") + policyFor("guard", "one"),
			after:   routeFor("one", "/one", "") + routeFor("two", "/two", "") + strings.TrimSuffix(policyFor("guard", "one", "two"), "---\n") + mistarget,
			want:    map[string]int{"/one": 401},
			wantNew: map[string]int{"/two": 500},
		},
		"a new route, and a policy that is extended to it with an unknown field": {
			before:  routeFor("one", "/one", "") + policyFor("guard", "one"),
			after:   routeFor("one", "/one", "") + routeFor("two", "/two", "") + strings.Replace(policyFor("guard", "one", "two"), "spec:", "spec:\n  nofield: 1", 1),
			want:    map[string]int{"/one": 401},
			wantNew: map[string]int{"/two": 500},
		},
		"a route gets another path while its policy is extended with a mistake": {
			before: routeFor("one", "/one", "") + policyFor("guard", "one"),
			after:  routeFor("one", "/", "") + strings.TrimSuffix(policyFor("guard", "one"), "---\n") + mistarget,
			want:   map[string]int{"/one": 401},
		},
		"a rule gets another name, and its policy does not": {
			before: routeFor("one", "/one", ruleNamed("admin")) + policyOfRule("admin"),
			after:  strings.Replace(routeFor("one", "/one", ruleNamed("boss")), "/one", "/", 1) + policyOfRule("admin"),
			want:   map[string]int{"/one": 401},
			code:   "SectionInUse",
		},
	}
}

// TestARuleIsRenamedWithItsPolicy: if the policy gets the new name, too, in one edit or later, both take effect.
func TestARuleIsRenamedWithItsPolicy(t *testing.T) {
	t.Parallel()
	s := newServed(t, "marker")
	s.stderr = new(sharedLog)
	host, _, _ := net.SplitHostPort(s.address)
	s.write("all.yaml", catchAll)
	s.write("one.yaml", routeFor("one", "/one", ruleNamed("admin")))
	s.write("guard.yaml", policyOfRule("admin"))
	s.serve(host)
	s.waitForAnswer("/one", 401)
	s.write("one.yaml", routeFor("one", "/two", ruleNamed("boss")))
	envoytest.Wait(t, "the edit to be held", func() error {
		if code, text := s.status("json"); code != 1 || !strings.Contains(text, "SectionInUse") {
			return fmt.Errorf("status: exit code %d: %s", code, text)
		}
		return nil
	})
	s.write("guard.yaml", policyOfRule("boss"))
	s.waitForAnswer("/two", 401)
	envoytest.Wait(t, "no problem to be left", func() error {
		if code, text := s.status("json"); code != 0 {
			return fmt.Errorf("status: exit code %d: %s", code, text)
		}
		return nil
	})
}

// ruleNamed returns the field for the name of a rule.
func ruleNamed(name string) string { return "    name: " + name + "\n" }

// policyOfRule is a policy for one rule of the route one.
func policyOfRule(name string) string {
	return strings.Replace(policyFor("guard", "one"), "name: one}", "name: one, sectionName: "+name+"}", 1)
}

// TestProtectionThatMovesIsNeverHalfThere: a policy that protects and the routes that it is about change together, or not
// at all. Beside them is a route that answers everything else.
func TestProtectionThatMovesIsNeverHalfThere(t *testing.T) {
	t.Parallel()
	for name, edit := range unitEdits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, "marker")
			s.stderr = new(sharedLog)
			host, _, _ := net.SplitHostPort(s.address)
			s.write("all.yaml", catchAll)
			s.write("unit.yaml", edit.before)
			s.serve(host)
			s.waitFor("marker", "a")
			var targets []envoytest.Target
			for path, want := range edit.want {
				s.waitForAnswer(path, want)
				targets = append(targets, envoytest.Target{Name: path, Request: envoytest.Request{Address: s.address, Path: path}, Check: func(r *envoytest.Response) error {
					if r.Status != want {
						return fmt.Errorf("status %d from %q", r.Status, r.Backend)
					}
					return nil
				}})
			}
			load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 200, Targets: targets})
			s.write("unit.yaml", edit.after)
			for path, want := range edit.wantNew {
				s.waitForAnswer(path, want)
			}
			for i := range 4 { // other edits of the namespace change nothing of it
				backend := []string{"b", "a"}[i%2]
				s.write("marker.yaml", s.route("marker", backend))
				s.waitFor("marker", backend)
				for path, want := range edit.wantNew {
					if got := envoytest.Do(t, envoytest.Request{Address: s.address, Path: path}); got.Status != want {
						t.Errorf("%s: %d from %q", path, got.Status, got.Backend)
					}
				}
			}
			wantNoFailure(t, load, 20)
			if code, text := s.status("json"); code != 1 || !strings.Contains(text, edit.code) {
				t.Errorf("status: exit code %d: %s", code, text)
			}
			s.write("unit.yaml", edit.before)
			envoytest.Wait(t, "no problem to be left", func() error {
				if code, text := s.status("json"); code != 0 {
					return fmt.Errorf("status: exit code %d: %s", code, text)
				}
				return nil
			})
		})
	}
}

// waitForAnswer waits until requests for a path are answered with a status.
func (s *served) waitForAnswer(path string, status int) {
	s.t.Helper()
	envoytest.Wait(s.t, fmt.Sprintf("%s to be answered with %d", path, status), func() error {
		response, err := envoytest.Try(envoytest.Request{Address: s.address, Path: path})
		if err == nil && response.Status != status {
			err = fmt.Errorf("status %d from %q", response.Status, response.Backend)
		}
		return err
	})
}
