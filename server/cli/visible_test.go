package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// hostileName is the name of a file that begins lines of its own, moves a terminal's cursor, turns the
// direction of writing and looks like a command of GitHub.
const hostileName = "x\x1b[2J\x1b]0;t\x07\r\n::error file=a::INJECTED\nINJECTED%0AINJECTED\u202e\u009b31m\u2028\x7f,line=1:"

// hostileTexts are the files of a folder whose every name and value is hostile; Kubernetes allows
// none of these names, so that each is in a problem.
func hostileTexts() map[string]string {
	quoted := `"x\e[2J\r\n::error ::INJECTED\nINJECTED\u202e\u009b31m\u2028\x7f"`
	return map[string]string{
		hostileName + ".yaml":                     "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, annotations: {" + quoted + ": " + quoted + "}}\nspec: {parentRefs: [{name: eg}], rules: [{backendRefs: [{name: missing, port: 80}], " + quoted + ": 1}]}\n",
		hostileName + "/" + hostileName + ".yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: " + quoted + "}\n",
		"values.yaml":                             "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: v, labels: {a: " + quoted + "}}\nspec: {hostnames: [" + quoted + "], parentRefs: [{name: eg, sectionName: " + quoted + "}], rules: [{matches: [{path: {type: " + quoted + ", value: " + quoted + "}}]}]}\n",
		"kind.yaml":                               "apiVersion: " + quoted + "\nkind: " + quoted + "\nmetadata: {name: k}\n",
		"broken-" + hostileName + ".yaml":         "a: [\x1b[2J\n",
		hostileName + "/kustomization.yaml":       "resources: []\n",
		hostileName + ".requests":                 "GET http://a.example.com:8080/ -> 418\n",
		"requests":                                "GET http://a.example.com:8080/\x1b[2J\u202e -> \x1b[2JINJECTED\u202e\nGET http://a.example.com:8080/ x-a:\u202e\u009b31m -> 200 | request x-b: \x1b]0;INJECTED\x07\n",
		"ok.yaml":                                 "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: ok}\nspec: {parentRefs: [{name: eg}], rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: \"\u202e\"}]}}]}]}\n",
	}
}

func writeHostile(t *testing.T, folder string) {
	t.Helper()
	for name, text := range hostileTexts() {
		path := filepath.Join(folder, strings.ReplaceAll(name, "/x", "/y"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkVisible fails for what a terminal or GitHub would obey, or begins a line of its own.
func checkVisible(t *testing.T, what, text string) {
	t.Helper()
	for number, line := range strings.Split(text, "\n") {
		if at := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\t' }); at >= 0 {
			t.Errorf("%s: line %d holds %q", what, number+1, line[max(0, at-40):min(len(line), at+40)])
		}
		if strings.HasPrefix(strings.TrimSpace(line), "INJECTED") || strings.HasPrefix(strings.TrimSpace(line), "::error file=a::") {
			t.Errorf("%s: line %d is somebody else's: %q", what, number+1, line)
		}
	}
}

// TestOutputsObeyNobody searches all that gatefold prints about a folder whose names and values are
// hostile.
func TestOutputsObeyNobody(t *testing.T) {
	folder, sound := t.TempDir(), t.TempDir()
	writeHostile(t, folder)
	if err := os.WriteFile(filepath.Join(sound, "gateway.yaml"), []byte("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\nspec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, command := range []string{
		"validate", "validate -o json", "validate -o yaml", "validate -o github", "validate -o sarif", "translate", "translate -o json",
		"tree", "tree -o json", "tree -o yaml", "tree -o mermaid", "tree -o dot", "test", "test -o json", "test -o junit", "test -o github",
		"plan " + sound, "plan -o markdown " + sound, "plan -o json " + sound, "explain GET http://a/", "explain -o json GET http://a/", "explain -o yaml GET http://a/",
	} {
		words := strings.Fields(command)
		args := append([]string{words[0], folder}, words[1:]...) // plan compares it with the sound one
		var stdout, stderr bytes.Buffer
		Main(args, &stdout, &stderr)
		checkVisible(t, command, stdout.String())
		checkVisible(t, command+" (standard error)", stderr.String())
		told += strings.Count(stdout.String(), "INJECTED")
	}
	if told < 50 {
		t.Errorf("%d names were told of: that proves nothing", told)
	}
	var stdout, stderr bytes.Buffer
	Main([]string{"validate", filepath.Join(folder, "\x1b[2J\nINJECTED")}, &stdout, &stderr)
	checkVisible(t, "a missing folder", stdout.String()+stderr.String())
}

// TestPagesObeyNobody is TestOutputsObeyNobody for a server: its logs, pages and status, with an
// Envoy whose node has a hostile name.
func TestPagesObeyNobody(t *testing.T) {
	for _, format := range []string{"json", "console"} {
		t.Run(format, func(t *testing.T) {
			log := &sharedLog{}
			s := newServed(t, "a")
			writeHostile(t, s.folder)
			s.stderr = shown(log)
			s.change = func(o *serveOptions) { o.log = logOptions{format: format, level: "debug"} }
			host, _, _ := strings.Cut(s.address, ":")
			s.serve(host)
			s.waitFor("a", "a")
			startPicky(s, "n\x1b[2J\nINJECTED\u202e")
			envoytest.Wait(t, "the node", func() error {
				if !strings.Contains(s.page("envoys")+s.page("status"), "INJECTED") {
					return errors.New("it is not there yet")
				}
				return nil
			})
			for _, page := range []string{"status", "problems", "transport", "envoys", "xds", "explain?method=GET&url=http://a/", "status/HTTPRoute/default/r"} {
				checkVisible(t, page, s.page(page))
			}
			for _, command := range []string{"status", "status -o json", "status -o yaml", "reload"} {
				var stdout, stderr bytes.Buffer
				args := append(strings.Fields(command), "--server", "http://"+s.admin)
				Main(args, &stdout, &stderr)
				checkVisible(t, command, stdout.String()+stderr.String())
			}
			if text := log.String(); !strings.Contains(text, "INJECTED") {
				t.Errorf("the log does not speak of the files: %s", text)
			} else {
				checkVisible(t, "the log", text)
			}
		})
	}
}

// page returns an admin page.
func (s *served) page(name string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, fmt.Sprintf("http://%s/api/v1/%s", s.admin, name), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		s.t.Fatal(err)
	}
	return body.String()
}
