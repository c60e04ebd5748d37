package translate_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/status"
)

// soundFolder serves one Gateway.
const soundFolder = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: sound}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: sound}
spec:
  parentRefs: [{name: sound}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]
`

// TestInvalidExamplesHurtNobody puts each of gateway-api's invalid examples beside a
// folder that serves, and all of them together: each is an error with its place, and
// what serves stays byte for byte. Each has the condition and reason that the Gateway
// API names on the object itself, but for ReferenceGrants, which have no status at all. A
// route has its conditions by parentRef, and most examples name none: these are tried as
// they are, without a status like any route without parents, and once more with a parent.
func TestInvalidExamplesHurtNobody(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("where is gateway-api: %v", err)
	}
	root := os.DirFS(filepath.Join(strings.TrimSpace(string(dir)), "hack/invalid-examples"))
	class := regexp.MustCompile("gatewayClassName: .*")
	w := newWorld(t)
	all := map[string]string{"sound.yaml": soundFolder}
	w.apply(tree(all))
	served, statuses := w.xdsText(), maps.Clone(w.statuses)
	told := 0
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		text := string(class.ReplaceAll(content, []byte("gatewayClassName: gatefold")))
		name := strings.ReplaceAll(path, "/", "-")
		for _, text := range slices.Compact([]string{text, withParent(text)}) {
			all[name] = text
			problems := w.apply(tree(map[string]string{"sound.yaml": soundFolder, name: text}))
			w.staysAs(t, path, served)
			if !hasError(problems, name) {
				t.Errorf("%s: no error with a line in %v", path, problems)
			}
			if w.tells(t, path, text) {
				told++
			}
		}
		return err
	})
	if err != nil || len(all) < 30 || told < 30 {
		t.Fatalf("%d examples, %d with a status: %v", len(all)-1, told, err)
	}
	w.apply(tree(all))
	w.staysAs(t, "all of them", served)
	w.checkCold(t)
	w.apply(tree(map[string]string{"sound.yaml": soundFolder}))
	if !reflect.DeepEqual(w.statuses, statuses) {
		t.Errorf("what is gone has a status: %s", w.text())
	}
}

// withParent returns a route without parentRefs one to the sound Gateway.
func withParent(text string) string {
	if strings.HasSuffix(exampleOf(text).Kind, "Route") && !strings.Contains(text, "parentRefs:") {
		return strings.Replace(text, "\nspec:\n", "\nspec:\n  parentRefs: [{name: sound}]\n", 1)
	}
	return text
}

// exampleOf returns the key of the object of a text.
func exampleOf(text string) manifest.Key {
	found := regexp.MustCompile(`(?m)^kind: (.*)\nmetadata:\n  name: (.*)$`).FindStringSubmatch(text)
	key := manifest.Key{Group: "gateway.networking.k8s.io", Kind: found[1], Namespace: "default", Name: found[2]}
	if key.Kind == "GatewayClass" {
		key.Namespace = ""
	}
	return key
}

// tells compares the conditions of an example's object with those that are wanted. It
// tells whether there are any.
func (w *world) tells(t *testing.T, path, text string) bool {
	t.Helper()
	got, want := "", wantedOf(path, text)
	if update, ok := w.statuses[exampleOf(text)]; ok {
		got = conditionsOf(update)
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", path, got, want)
	}
	return got != ""
}

// wantedOf names the conditions that an example is to have, as conditionsOf does.
func wantedOf(path, text string) string {
	gateway := "Accepted=False Invalid, Programmed=False Invalid"
	listener := func(name, reason string) string {
		return fmt.Sprintf("%s, listener %s Accepted=False %s, listener %[2]s Programmed=False Invalid", gateway, name, reason)
	}
	switch filepath.Base(path) {
	case "duplicate-listeners.yaml": // admitted: a listener beside the two would serve
		return "Accepted=False ListenersNotValid, Programmed=False Invalid, listener same Accepted=False ListenerConflict, " +
			"listener same Conflicted=True ListenerConflict, listener same Programmed=False ListenerConflict, listener same ResolvedRefs=True ResolvedRefs"
	case "hostname-tcp.yaml", "hostname-udp.yaml", "tlsconfig-tcp.yaml":
		return listener("example", "Invalid") // a rule about all listeners does not name one
	case "invalid-tls-mode.yaml":
		return listener("foo", "Invalid")
	case "invalid-addresses.yaml":
		return listener("prod-web-gw", "Invalid")
	case "invalid-listener-port.yaml":
		return listener("foo", "UnsupportedValue")
	case "invalid-listener-name.yaml": // which no entry could have
		return gateway
	}
	switch key := exampleOf(text); {
	case key.Kind == "GatewayClass":
		return "Accepted=False InvalidParameters"
	case strings.HasSuffix(key.Kind, "Route") && strings.Contains(text, "parentRefs:"):
		return "parent Accepted=False UnsupportedValue"
	}
	return ""
}

// conditionsOf writes the conditions of an object, its listeners and parents down.
func conditionsOf(update status.Update) string {
	var all []string
	add := func(part string, conditions []metav1.Condition) {
		for _, c := range conditions {
			all = append(all, fmt.Sprintf("%s%s=%s %s", part, c.Type, c.Status, c.Reason))
		}
	}
	switch s := update.Status.(type) {
	case *gwv1.GatewayClassStatus:
		add("", s.Conditions)
	case *gwv1.GatewayStatus:
		add("", s.Conditions)
		for _, l := range s.Listeners {
			add("listener "+string(l.Name)+" ", l.Conditions)
		}
	case *gwv1.RouteStatus:
		for _, p := range s.Parents {
			add("parent ", p.Conditions)
		}
	}
	return strings.Join(all, ", ")
}

func hasError(problems []manifest.Problem, file string) bool {
	for _, p := range problems {
		if p.File == file && p.Severity == manifest.Error && p.Line > 0 {
			return true
		}
	}
	return false
}

// staysAs compares what a world serves with what it served.
func (w *world) staysAs(t *testing.T, what, served string) {
	t.Helper()
	if got := w.xdsText(); got != served {
		t.Errorf("%s: what serves differs at %s", what, firstDifference(got, served))
	}
	answer := explain.Request(w.view(), explain.Query{Scheme: "http", Host: "x:8080", Port: 8080, Method: "GET", Path: "/"})
	if answer.Rule == nil || answer.Rule.Root.Key.Name != "sound" {
		t.Errorf("%s: the sound route does not answer", what)
	}
}

// TestAClosedListenerSaysSo: the listener that an invalid policy is for has the condition
// gatefold.io/ClosedByPolicy, with the policy's name, until the policy is valid. The listener
// beside it has none.
func TestAClosedListenerSaysSo(t *testing.T) {
	const folder = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: closed, port: 8080, protocol: HTTP}
  - {name: open, port: 8081, protocol: HTTP}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: eg, sectionName: closed}]
  %s
`
	w := newWorld(t)
	said := func(policy string) map[gwv1.SectionName]string {
		w.apply(tree(map[string]string{"eg.yaml": fmt.Sprintf(folder, policy)}))
		key := manifest.Key{Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "default", Name: "eg"}
		closed := map[gwv1.SectionName]string{}
		for _, l := range w.statuses[key].Status.(*gwv1.GatewayStatus).Listeners {
			if c := meta.FindStatusCondition(l.Conditions, "gatefold.io/ClosedByPolicy"); c != nil {
				closed[l.Name] = fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
			}
		}
		return closed
	}
	closed := said("rbac: {action: Deny}")
	if c := closed["closed"]; len(closed) != 1 || !strings.HasPrefix(c, "True Invalid: every route of the listener answers 500: ") || !strings.Contains(c, "TrafficPolicy default/guard") {
		t.Errorf("the condition of the closed listeners: %q", closed)
	}
	if closed := said("timeouts: {request: 1s}"); len(closed) > 0 {
		t.Errorf("the policy is valid, and yet: %q", closed)
	}
}
