package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// readyFolder is a folder that gatefold serves, whose files a test changes.
type readyFolder struct {
	*testing.T
	dir   string
	admin client
}

// serveReady serves a folder with the flags, without a saved state. It has two sets of files.
func serveReady(t *testing.T, files, more map[string]string, flags ...string) *readyFolder {
	t.Helper()
	sockets := t.TempDir()
	f := &readyFolder{t, t.TempDir(), client{address: "unix:" + filepath.Join(sockets, "admin"), timeout: patience}}
	f.write(files)
	f.write(more)
	log := new(sharedLog)
	gatefold := exec.Command("gatefold", append([]string{"serve", f.dir, "--admin-address", f.admin.address,
		"--xds-address", "unix:" + filepath.Join(sockets, "xds"), "--state-dir", "none"}, flags...)...)
	gatefold.Stderr = log
	if err := gatefold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gatefold.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := gatefold.Wait(); err != nil || t.Failed() {
			t.Errorf("serve: %v\n%s", err, log)
		}
	})
	return f
}

// write writes files, and removes those without text.
func (f *readyFolder) write(files map[string]string) {
	f.Helper()
	for name, text := range files {
		path := filepath.Join(f.dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && text == "" {
			err = os.RemoveAll(path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
}

// wants waits until a page answers with a status code and, somewhere in its body, a text.
func (f *readyFolder) wants(page string, code int, text string) {
	f.Helper()
	envoytest.Wait(f, fmt.Sprintf("%s to answer %d with %q", page, code, text), func() error {
		got, body, err := f.admin.get(f.Context(), page)
		if err == nil && (got != code || !strings.Contains(string(body), text)) {
			err = fmt.Errorf("%d: %s", got, body)
		}
		return err
	})
}

const readyGateway = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg}, spec: {gatewayClassName: gatefold,
  listeners: [{name: http, protocol: HTTP, port: 8080, allowedRoutes: {namespaces: {from: All}}}]}}
`

const readyNamespaces = `{apiVersion: v1, kind: Namespace, metadata: {name: default}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {gatefold.io/paths: a/**}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: b, annotations: {gatefold.io/paths: b/**}}}
`

// readyRoute is a route of a namespace for a host, without rules: it answers 500.
func readyRoute(namespace, host string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: %s}, spec: {parentRefs: [{name: eg, namespace: default}], hostnames: [%s]}}\n", namespace, host)
}

// TestReadyWhileTheFolderIsFrozen: at a start without a saved state, gatefold is not ready while the whole folder is
// frozen, and says why. Once it serves, it stays ready (docs/operations.md#ready).
func TestReadyWhileTheFolderIsFrozen(t *testing.T) {
	for name, test := range map[string]struct {
		flags        []string
		right, wrong map[string]string // the second freezes the folder
		why          string
	}{
		"an error with --strict": {
			[]string{"--strict"}, map[string]string{"other.yaml": readyRoute("default", "a.test")}, map[string]string{"other.yaml": "kind: Gateway\n"},
			"the newest change of the folder brings an error; the first is other.yaml:1:1: ",
		},
		"a test with --gate-tests": {
			[]string{"--gate-tests"}, map[string]string{"requests": "GET http://a.test:8080/ -> 404\n"}, map[string]string{"requests": "GET nonsense\n"},
			"1 more cannot be read",
		},
		"no Namespace with --cluster-paths": {
			[]string{"--cluster-paths", "platform/**"}, map[string]string{"platform/n.yaml": readyNamespaces}, map[string]string{"platform/n.yaml": ""},
			"no file of --cluster-paths defines a Namespace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveReady(t, map[string]string{"platform/gateway.yaml": readyGateway}, test.wrong, test.flags...)
			f.wants("/readyz", 503, "nothing has been loaded yet: ")
			f.wants("/readyz", 503, test.why)
			f.write(test.right)
			f.wants("/readyz", 200, "ready")
			f.wants("/readyz", 200, "\"liveDigest\": ")
			f.wants("/metrics", 200, "\ngatefold_live_digest ")
			f.write(test.wrong)
			f.wants("/api/v1/problems", 200, "\"frozen\": \"")
			f.wants("/api/v1/problems", 200, test.why)
			f.wants("/readyz", 200, "ready")
		})
	}
}

// TestReadyWhileANamespaceIsFrozen: the tests of one team make gatefold not ready for nobody, neither at a start without a
// saved state, where nothing of the team is served, nor later (docs/operations.md#ready).
func TestReadyWhileANamespaceIsFrozen(t *testing.T) {
	f := serveReady(t, map[string]string{
		"platform/n.yaml": readyNamespaces, "platform/gateway.yaml": readyGateway, "b/route.yaml": readyRoute("b", "b.test"),
		"a/route.yaml": readyRoute("a", "a.test"), "a/requests": "GET http://none.test:8080/ -> 500\n",
	}, nil, "--cluster-paths", "platform/**", "--gate-tests")
	f.wants("/readyz", 200, "ready")
	f.wants("/api/v1/problems", 200, "serves nothing of namespace a until they pass")
	f.wants("/metrics", 200, `gatefold_namespace_frozen{namespace="a"} 1`)
	f.wants("/api/v1/explain?url=http://b.test:8080/", 200, "HTTPRoute")
	f.wants("/api/v1/explain?url=http://a.test:8080/", 200, "not-found")
	f.write(map[string]string{"a/requests": "GET http://a.test:8080/ -> 500\n"})
	f.wants("/metrics", 200, "gatefold_tests_failed 0")
	f.write(map[string]string{"a/route.yaml": readyRoute("a", "new.test")})
	f.wants("/metrics", 200, `gatefold_namespace_frozen{namespace="a"} 1`)
	f.wants("/readyz", 200, "ready")
	f.wants("/api/v1/explain?url=http://a.test:8080/", 200, "HTTPRoute")
}

// TestAMisspeltAnnotationIsToldAtAStart: a Namespace of cluster paths has a misspelt annotation at a start without a saved
// state. Nothing is served, and /readyz, the list of problems and `status` name the file and the annotation
// (docs/guides/teams.md#where-policies-cannot-be-known). The folder is followed meanwhile; once it serves, the mistake is
// a problem of the Namespace alone.
func TestAMisspeltAnnotationIsToldAtAStart(t *testing.T) {
	f := serveReady(t, map[string]string{"platform/gateway.yaml": readyGateway, "a/route.yaml": readyRoute("a", "a.test")}, nil, "--cluster-paths", "platform/**")
	misspelt := func(annotation string) map[string]string {
		return map[string]string{"platform/n.yaml": strings.Replace(readyNamespaces, "gatefold.io/paths: a/**", "gatefold.io/paths: a/**, "+annotation+": x", 1)}
	}
	for _, annotation := range []string{"gatefold.io/hostnmes", "gatefold.io/backend", "gatefold.io/gateway-prots", "gatefold.io/delegation-form", "gatefold.oi/paths"} {
		f.write(misspelt(annotation))
		f.wants("/api/v1/problems", 200, `unknown annotation \"`+annotation+`\"`)
		f.wants("/readyz", 503, "Fix the errors of platform/n.yaml")
		f.shows(`platform/n.yaml:3:.* unknown annotation "` + annotation + `"`)
	}
	f.write(map[string]string{"platform/n.yaml": readyNamespaces})
	f.wants("/readyz", 200, "ready")
	f.write(misspelt("gatefold.io/hostnmes"))
	f.shows(`platform/n.yaml:3:.* unknown annotation "gatefold.io/hostnmes"`)
	f.wants("/readyz", 200, "ready")
	f.wants("/api/v1/explain?url=http://a.test:8080/", 200, "HTTPRoute")
}

// shows waits until `gatefold status` prints what a regular expression matches.
func (f *readyFolder) shows(text string) {
	f.Helper()
	envoytest.Wait(f, "status to show "+text, func() error {
		var out bytes.Buffer
		Main([]string{"status", "--admin-address", f.admin.address}, &out, &out)
		if !regexp.MustCompile(text).Match(out.Bytes()) {
			return errors.New(out.String())
		}
		return nil
	})
}
