package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store/manifest"
)

// heldEdit is an edit with a mistake, of a file of a served folder.
type heldEdit struct {
	files    map[string]string // further files of the folder
	file     string            // the edited file
	old, new string            // what is replaced in it
	code     string            // the code of the problem
	// comes is a file that ends the mistake; otherwise old is written again. then is the status of answers after that.
	comes [2]string
	then  int
	want  int // the status of answers before and during the mistake
}

const guard = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: site}]
  basicAuth: {users: ["alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="]}
`

const secretGuard = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: site}]
  basicAuth: {secretRef: {name: users}}
`

const users = `apiVersion: v1
kind: Secret
metadata: {name: users}
stringData:
  .htpasswd: |
    alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=
    bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=
`

const keysGuard = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: site}]
  apiKeyAuth: {keySources: [{header: x-key}], secretSelector: {matchLabels: {keys: site}}}
`

const keys = `apiVersion: v1
kind: Secret
metadata: {name: keys, labels: {keys: site}}
stringData: {ann: k-123456}
`

const openGuard = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: site}]
  acl: {defaultAction: allow, rules: [{action: deny, cidrs: [10.0.0.0/8]}]}
`

// heldEdits are edits of live objects that pass their schema, by what is wrong.
func heldEdits() map[string]heldEdit {
	return map[string]heldEdit{
		"a protocol of a listener":      {file: "gateway.yaml", old: "protocol: HTTP}", new: "protocol: HTPS}", code: "UnsupportedProtocol", want: 200},
		"a second protocol of a port":   {file: "gateway.yaml", old: "listeners: [", new: "listeners: [{name: second, port: PORT, protocol: TCP}, ", code: "ProtocolConflict", want: 200},
		"a class":                       {file: "gateway.yaml", old: "gatewayClassName: gatefold", new: "gatewayClassName: gatefolt", code: "GatewayClassNotFound", want: 200},
		"a kind of route":               {file: "gateway.yaml", old: "protocol: HTTP}", new: "protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRout}]}}", code: "InvalidRouteKinds", want: 200},
		"a backend that does not exist": {file: "site.yaml", old: "name: a}", new: "name: later}", code: "BackendNotFound", want: 200, comes: [2]string{"later.yaml", backendText("later")}, then: 503},
		"a parent that does not exist":  {file: "site.yaml", old: "[{name: eg}]", new: "[{name: egg}]", code: "NoMatchingParent", want: 200},
		"a policy that does not exist":  {file: "site.yaml", old: "    backendRefs", new: "    filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: none}}]\n    backendRefs", code: "PolicyNotFound", want: 200},
		"an expression of a path":       {file: "site.yaml", old: "{value: /site}", new: "{type: RegularExpression, value: '/site('}", code: "RefusedByEnvoy", want: 200},
		"an expression beside a catch-all": {
			files: map[string]string{"guard.yaml": guard, "all.yaml": catchAll}, file: "site.yaml",
			old: "{value: /site}", new: "{type: RegularExpression, value: '/site('}", code: "RefusedByEnvoy", want: 401,
		},
		"an expression of a header beside a catch-all": {
			files: map[string]string{"guard.yaml": guard, "all.yaml": catchAll}, file: "site.yaml",
			old: "{value: /site}", new: "{value: /site}, headers: [{name: x, type: RegularExpression, value: '('}]", code: "RefusedByEnvoy", want: 401,
		},
		"a network of an acl": {
			files: map[string]string{"guard.yaml": openGuard}, file: "guard.yaml", old: "10.0.0.0/8", new: "10.0.0.1/8", code: "InvalidValue", want: 200,
		},
		"a user of basicAuth": {
			files: map[string]string{"guard.yaml": guard}, file: "guard.yaml", old: `["alice:`, new: `["bob:$2y$05$abc", "alice:`, code: "InvalidCredentials", want: 401,
		},
		"a user in a Secret": {
			files: map[string]string{"guard.yaml": secretGuard, "users.yaml": users}, file: "users.yaml", old: "bob:{SHA}", new: "bob:{MD5}", code: "InvalidCredentials", want: 401,
		},
		"the keys of a Secret that labels select": {
			files: map[string]string{"guard.yaml": keysGuard, "keys.yaml": keys}, file: "keys.yaml", old: "stringData: {ann: k-123456}", new: "stringData:", code: "InvalidCredentials", want: 401,
		},
		"an extension that does not exist": {
			files: map[string]string{"guard.yaml": openGuard}, file: "guard.yaml", old: "  acl:", new: "  extAuth: {extensionRef: {name: none}}\n  acl:", code: "ExtensionNotFound", want: 200,
		},
		"a target that does not exist": {
			files: map[string]string{"guard.yaml": guard}, file: "guard.yaml", old: "name: site}", new: "name: sight}", code: "TargetNotFound", want: 401,
		},
		"a section that does not exist": {
			files: map[string]string{"guard.yaml": guard}, file: "guard.yaml", old: "name: site}", new: "name: site, sectionName: admn}", code: "TargetNotFound", want: 401,
		},
	}
}

// catchAll is a route that answers what no other does.
const catchAll = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all}
spec:
  parentRefs: [{name: eg}]
  rules:
  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]
`

// backendText is a Backend to which nothing can connect.
func backendText(name string) string {
	return fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: %s}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 1}]}}
`, name)
}

// TestAnEditWithAMistakeIsNotApplied: an edit takes effect when the edited object has no error; until then, the version
// before it is still served.
func TestAnEditWithAMistakeIsNotApplied(t *testing.T) {
	t.Parallel()
	for name, edit := range heldEdits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, "site", "marker")
			s.stderr = new(sharedLog)
			host, port, _ := net.SplitHostPort(s.address)
			for file, text := range edit.files {
				s.write(file, text)
			}
			s.serve(host)
			s.waitFor("marker", "a")
			site := envoytest.Target{Name: "site", Request: s.request("site"), Check: func(r *envoytest.Response) error {
				if r.Status != edit.want {
					return fmt.Errorf("status %d from %q", r.Status, r.Backend)
				}
				return nil
			}}
			s.waitForAnswer("/site", edit.want)
			load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 200, Targets: []envoytest.Target{site}})
			text, err := os.ReadFile(filepath.Join(s.folder, edit.file))
			if err != nil {
				t.Fatal(err)
			}
			right, before := string(text), t.TempDir()
			if err := os.CopyFS(before, os.DirFS(s.folder)); err != nil {
				t.Fatal(err)
			}
			wrong := strings.Replace(right, edit.old, strings.ReplaceAll(edit.new, "PORT", port), 1)
			if wrong == right {
				t.Fatalf("%q is not in %s", edit.old, right)
			}
			s.write(edit.file, wrong)
			s.write("marker.yaml", s.route("marker", "b"))
			s.waitFor("marker", "b")
			envoytest.Wait(t, "the edit to be told as not applied", func() error {
				if code, text := s.status("json"); code != 1 || !strings.Contains(text, edit.code) || !strings.Contains(text, "the edit is not applied") {
					return fmt.Errorf("status: exit code %d: %s", code, text)
				}
				return nil
			})
			wantNoFailure(t, load, 20)
			s.wantPlanned(before)
			if edit.comes[0] != "" {
				s.write(edit.comes[0], edit.comes[1])
				s.waitForAnswer("/site", edit.then)
				return
			}
			s.write(edit.file, right)
			envoytest.Wait(t, "no problem to be left", func() error {
				if code, text := s.status("json"); code != 0 {
					return fmt.Errorf("status: exit code %d: %s", code, text)
				}
				return nil
			})
			s.waitForAnswer("/site", edit.want)
		})
	}
}

// TestAnEditThatClosesOnErrorIsApplied: an object with the annotation gatefold.io/on-error answers 500 where an edit has an
// error, and as before when the error is fixed. What the schema refuses is not applied all the same.
func TestAnEditThatClosesOnErrorIsApplied(t *testing.T) {
	t.Parallel()
	const annotated = "name: guard, annotations: {gatefold.io/on-error: close}"
	s := newServed(t, "site", "marker")
	host, _, _ := net.SplitHostPort(s.address)
	guarded := strings.Replace(guard, "name: guard", annotated, 1)
	s.write("guard.yaml", guarded)
	s.serve(host)
	s.waitForAnswer("/site", 401)
	s.write("guard.yaml", strings.Replace(guarded, "{SHA}", "{MD5}", 1))
	s.waitForAnswer("/site", 500)
	s.tells("InvalidCredentials", true)
	s.write("guard.yaml", guarded)
	s.waitForAnswer("/site", 401)
	s.write("guard.yaml", strings.Replace(guarded, "basicAuth:", "basicAuht:", 1))
	s.tells("UnknownField", false)
	s.waitForAnswer("/site", 401)
}

// tells waits until status has an error with a code. The parameter applied says whether the edit with it is applied.
func (s *served) tells(code string, applied bool) {
	s.t.Helper()
	envoytest.Wait(s.t, "an error "+code, func() error {
		if exit, text := s.status("json"); exit != 1 || !strings.Contains(text, code) || strings.Contains(text, `"stale"`) == applied {
			return fmt.Errorf("status: exit code %d: %s", exit, text)
		}
		return nil
	})
}

// wantPlanned fails the test unless the plan of a folder and of the one that is served now has those edits as not applied that
// gatefold does not apply.
func (s *served) wantPlanned(before string) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"plan", before, s.folder, "-o", "json"}, &stdout, &stderr); code != 1 {
		s.t.Fatalf("plan: exit code %d: %s%s", code, &stdout, &stderr)
	}
	var report planned
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		s.t.Fatal(err)
	}
	told := map[manifest.Key]bool{}
	for _, e := range report.Held {
		told[e.Object] = true
	}
	var held board.List[board.Object[any]]
	if err := json.Unmarshal([]byte(s.page("status")), &held); err != nil {
		s.t.Fatal(err)
	}
	stale := map[manifest.Key]bool{}
	for _, o := range held.Items {
		if o.Stale != nil {
			stale[o.Key()] = true
		}
	}
	if len(stale) == 0 || !maps.Equal(told, stale) {
		s.t.Errorf("the plan has %v as not applied; gatefold does not apply %v", told, stale)
	}
}
