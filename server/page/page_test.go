package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/watcher"
)

// site is a running gatefold and its folder.
type site struct {
	t     *testing.T
	dir   string
	admin string // HOST:PORT
	xds   string // HOST:PORT
}

// newSite returns a site of a folder that need not exist, with addresses of its own.
func newSite(t *testing.T, dir string) *site {
	t.Helper()
	address := func() string { return fmt.Sprintf("127.0.0.1:%d", envoytest.FreePort(t)) }
	return &site{t: t, dir: dir, admin: address(), xds: address()}
}

// serve runs gatefold on a folder with these files until the test ends, and waits until it serves them.
func serve(t *testing.T, files map[string]string) *site {
	t.Helper()
	s := newSite(t, t.TempDir())
	for name, text := range files {
		s.write(name, text)
	}
	s.start()
	s.until("gatefold is ready", func() bool { code, _ := s.try("/readyz"); return code == http.StatusOK })
	s.until("the folder is the first revision", func() bool {
		var revisions admin.RevisionList
		s.read("/api/v1/revisions", &revisions)
		return revisions.Revision > 0
	})
	return s
}

// start runs gatefold on the site's folder until the test ends.
func (s *site) start() {
	t := s.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	options := engine.Options{
		Folder: engine.Folder{Watch: watcher.Options{Root: s.dir, Limits: watcher.DefaultLimits()}},
		Server: server.Options{AdminAddress: s.admin, XDSAddress: s.xds, BindRetry: 50 * time.Millisecond},
	}
	go func() { done <- engine.Serve(ctx, options, zerolog.Nop()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) until(what string, done func() bool) {
	s.t.Helper()
	envoytest.Wait(s.t, what, func() error {
		if !done() {
			return errors.New("not yet")
		}
		return nil
	})
}

// try asks for a page; the code is 0 for no answer.
func (s *site) try(path string) (int, string) {
	response, err := http.Get("http://" + s.admin + path)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(body)
}

// get returns a page that has to be there.
func (s *site) get(path string) string {
	s.t.Helper()
	code, body := s.try(path)
	if code != http.StatusOK {
		s.t.Fatalf("%s: status %d: %s", path, code, body)
	}
	return body
}

// read decodes a JSON page.
func (s *site) read(path string, value any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.get(path)), value); err != nil {
		s.t.Fatal(err)
	}
}

// words returns what a person reads on a page, with one space between two words.
func words(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(page, " "))), " ")
}

var tags = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// shows fails if a text is not on a page.
func shows(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if text = strings.Join(strings.Fields(text), " "); !strings.Contains(page, text) {
			t.Errorf("%q is not on the page: %s", text, page)
		}
	}
}

const shop = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: platform}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: http, protocol: HTTP, port: 8080, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root, namespace: platform}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {value: /cart}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: team}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: team}
spec:
  rules:
  - matches: [{path: {value: /cart/list}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other, namespace: team}
spec:
  rules:
  - matches: [{path: {value: /elsewhere}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: cart, namespace: team}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}
`

const broken = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: broken, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: platform}]
  rules:
  - matchs: [{path: {value: /cart}}]
`

// Every fact on the pages is one of the JSON pages of the same moment.
func TestThePagesHaveTheFactsOfTheJSONPages(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": shop, "broken.yaml": broken})
	overview := words(s.get("/"))

	var problems admin.ProblemList
	s.read("/api/v1/problems", &problems)
	if len(problems.Problems) == 0 {
		t.Fatal("there is no problem to show")
	}
	errs, warnings := manifest.Count(problems.Problems)
	shows(t, overview, fmt.Sprintf("%d error", errs), fmt.Sprintf("%d warning", warnings))
	list := words(s.get("/page/problems"))
	for _, p := range problems.Problems {
		place := fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		shows(t, overview, p.Code, p.Object.String(), place, p.Field, p.Message, p.Hint)
		shows(t, list, p.Code, p.Object.String(), place, p.Field, p.Message, p.Hint)
	}

	var revisions admin.RevisionList
	s.read("/api/v1/revisions", &revisions)
	shows(t, overview, fmt.Sprintf("Revision %d Since %s", revisions.Revision, revisions.Since.Format("2006-01-02 15:04:05 UTC")), "Envoys 0")
	edits := words(s.get("/page/edits"))
	for _, e := range revisions.Edits {
		shows(t, edits, fmt.Sprintf("Revision %d", e.Revision), fmt.Sprintf("Envoy resources %d changed", e.Resources))
		for _, step := range e.Steps {
			shows(t, edits, step.Name)
		}
	}

	var nodes []*explain.TreeNode
	s.read("/api/v1/tree", &nodes)
	routes := words(s.get("/page/routes"))
	eachNode(nodes, func(n *explain.TreeNode) {
		at := ""
		if n.At.File != "" {
			at = fmt.Sprintf(" %s:%d", n.At.File, n.At.Line)
		}
		shows(t, routes, n.Name+at)
	})
	shows(t, routes, "not accepted HTTPRoute team/other", "not accepted HTTPRoute team/broken")

	var objects board.List[board.Object[board.Status]]
	s.read("/api/v1/status", &objects)
	for _, o := range objects.Items {
		key := o.Key()
		page := words(s.get("/page/object?" + url.Values{"group": {key.Group}, "kind": {key.Kind}, "namespace": {key.Namespace}, "name": {key.Name}}.Encode()))
		shows(t, page, key.Kind, key.Name)
		for _, part := range o.Status.Parts() {
			for _, c := range part.Conditions {
				shows(t, page, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
			}
			for _, c := range part.Wrong() {
				shows(t, overview, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
			}
		}
	}
}

func eachNode(nodes []*explain.TreeNode, visit func(*explain.TreeNode)) {
	for _, n := range nodes {
		visit(n)
		eachNode(n.Below, visit)
	}
}

// The page of an object shows it as it is served, and what it refers to; of a Secret, its keys alone.
func TestTheSecretsContentIsOnNoPage(t *testing.T) {
	const content = "dG9wc2VjcmV0dmFsdWU="
	s := serve(t, map[string]string{"shop.yaml": shop, "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: cert, namespace: team, labels: {a: " + content[:19] + "}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\": {\"tls.key\": \"" + content + "\"}}'}}\n" +
		"type: Opaque\ndata: {tls.key: " + content + "}\nstringData: {other: topsecretvalue}\n"})
	page := s.get("/page/object?kind=Secret&namespace=team&name=cert")
	shows(t, words(page), "tls.key", "secret.yaml:1", "kind: Secret")
	for _, path := range []string{"/", "/page/routes", "/page/problems", "/page/edits", "/page/object?kind=Secret&namespace=team&name=cert"} {
		if page := s.get(path); strings.Contains(page, "topsecretvalue") || strings.Contains(page, content[:19]) {
			t.Errorf("%s shows the content of the Secret", path)
		}
	}
	route := words(s.get("/page/object?group=gateway.networking.k8s.io&kind=HTTPRoute&namespace=team&name=cart"))
	shows(t, route, "value: /cart/list", "Backend team/cart spec.rules[0].backendRefs[0]")
	backend := words(s.get("/page/object?group=gateway.kgateway.dev&kind=Backend&namespace=team&name=cart"))
	shows(t, backend, "HTTPRoute team/cart spec.rules[0].backendRefs[0]", "host: 127.0.0.1")
}

// The answer of the form is the one of the JSON page.
func TestTheFormExplains(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": shop, "broken.yaml": broken})
	for _, question := range []url.Values{
		{"method": {"GET"}, "url": {"http://shop.example.com:8080/cart/list"}, "header": {"x-env: prod", "x-b: 2"}},
		{"method": {"GET"}, "url": {"http://shop.example.com:8080/none"}},
		{"method": {"POST"}, "url": {"http://none.example.com:8080/cart"}, "from": {"203.0.113.7"}},
		{"method": {"GET"}, "url": {"http://shop.example.com:1/cart"}},
	} {
		var report explain.Report
		s.read("/api/v1/explain?"+question.Encode(), &report)
		question.Set("headers", strings.Join(question["header"], "\r\n"))
		page := words(s.get("/page/explain?" + question.Encode()))
		shows(t, page, string(report.Outcome), report.Reason, report.Request.URL)
		for _, b := range report.Backends {
			shows(t, page, b.Cluster, b.Receives.Host+b.Receives.Path)
		}
		for _, n := range report.NearMisses {
			shows(t, page, n.Match, n.Reason)
		}
		for _, p := range report.Problems {
			shows(t, page, p.Message)
		}
		if report.Route != nil {
			shows(t, page, report.Route.Match, "shop.yaml:")
		}
	}
	if page := words(s.get("/page/explain?url=http%3A%2F%2Fa.test%2F&from=nowhere")); !strings.Contains(page, "cannot be answered") {
		t.Errorf("an address that is none: %s", page)
	}
}

// The filters of the tree are those of the JSON page; a filter that is none is said to be.
func TestTheTreeIsFiltered(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": shop})
	shows(t, words(s.get("/page/routes?path=%2Fcart%2Flist")), "HTTPRoute team/cart")
	if page := words(s.get("/page/routes?host=none.example.com")); !strings.Contains(page, "Nothing to show") {
		t.Errorf("a host that is not served: %s", page)
	}
	for _, path := range []string{"/page/routes?path=cart", "/page/routes?route=cart", "/page/routes?from=x", "/page/problems?from=-1", "/page/object", "/page/object?kind=Pod&name=a"} {
		if code, _ := s.try(path); code != http.StatusBadRequest {
			t.Errorf("%s: status %d", path, code)
		}
	}
	for _, path := range []string{"/page/none", "/page/", "/page/object?kind=HTTPRoute&group=gateway.networking.k8s.io&namespace=team&name=none"} {
		if code, _ := s.try(path); code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, code)
		}
	}
}

// A browser may do nothing with a page but show it.
func TestThePagesAreSecured(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": shop})
	for _, path := range []string{"/", "/page/routes", "/page/problems", "/page/edits", "/page/explain", "/page/endpoints", "/page/certificates", "/page/object", "/page/none", "/page/page.css", "/page/page.js"} {
		response, err := http.Get("http://" + s.admin + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		policy := response.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "data:") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.admin+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, response.StatusCode)
		}
	}
}

// A page that is opened before gatefold has read the folder asks again by itself; one that does not exist does not.
func TestAPageWaitsForTheFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, filepath.Join(t.TempDir(), "later"))
	s.start()
	var early string
	s.until("the admin address answers", func() (answers bool) {
		code, text := s.try("/page/routes")
		early = text
		return code == http.StatusServiceUnavailable
	})
	if !strings.Contains(early, "data-live") {
		t.Errorf("the page before the folder is read does not ask again:\n%s", early)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.until("the page shows the folder", func() bool { code, _ := s.try("/page/routes"); return code == http.StatusOK })
	if code, text := s.try("/page/nowhere"); code != http.StatusNotFound || strings.Contains(text, "data-live") {
		t.Errorf("a page that does not exist answers %d:\n%s", code, text)
	}
}

// A page that is as the client has it is not sent again.
func TestAPageThatDidNotChangeIsNotSentAgain(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": shop})
	ask := func(tag string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.admin+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("If-None-Match", tag)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode, response.Header.Get("ETag")
	}
	tag := ""
	s.until("the page is not sent again", func() bool { // what a start shows changes for a moment
		before := tag
		code, now := ask(before)
		tag = now
		return code == http.StatusNotModified && now == before
	})
	s.write("broken.yaml", broken)
	s.until("the problem is shown", func() bool { return strings.Contains(s.get("/"), "matchs") })
	if code, now := ask(tag); code != http.StatusOK || now == tag {
		t.Errorf("after an edit: status %d", code)
	}
}

// A rule of a GRPCRoute without a backend answers UNAVAILABLE, and the tree says so.
func TestTheTreeMarksAGRPCRoute(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": shop, "rpc.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls, namespace: platform}
spec:
  parentRefs: [{name: edge}]
  hostnames: [rpc.example.com]
  rules:
  - backendRefs: [{name: gone, port: 80}]
`})
	page := s.get("/page/routes?host=rpc.example.com")
	if !strings.Contains(page, "answers UNAVAILABLE") || strings.Contains(page, "answers 500") || !strings.Contains(page, "BackendNotFound") {
		t.Error(page)
	}
}
