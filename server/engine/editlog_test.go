package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/watcher"
)

// treeOfFiles returns a Tree of some files.
func treeOfFiles(files map[string]string) watcher.Tree {
	all := watcher.Tree{Root: "folder"}
	for name, text := range files {
		all = with(all, watcher.File{Path: name, Content: []byte(text), Hash: sha256.Sum256([]byte(text))})
	}
	return all
}

// guardWith returns a TrafficPolicy for the route site.
func guardWith(spec string) string {
	return `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: site}]
` + spec
}

// bytesOf returns a Secret or ConfigMap with one entry.
func bytesOf(kind, name, entry, value string) string {
	field := "data"
	if kind == "Secret" {
		value = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s, labels: {clients: all}}\n%s: {%q: %q}\n", kind, name, field, entry, value)
}

const (
	htpasswdAlice = "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
	htpasswdBob   = "bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
)

// An edit that is not applied and may take away access is one line of the log: what is still in force, and where the error
// is. The stale object protects, and has its stage.
func TestAnEditThatProtectsAndIsNotAppliedIsLogged(t *testing.T) {
	users := "  basicAuth: {users: ['" + htpasswdAlice + "', '" + htpasswdBob + "']}\n"
	for name, test := range map[string]struct {
		files    map[string]string
		file     string
		old, new string
		stage    store.Stage
		object   string
		want     string // what the log says; "" if the edit does not protect
	}{
		"a user is removed, with an unknown field": {
			files: map[string]string{"guard.yaml": guardWith(users)}, file: "guard.yaml", old: ", '" + htpasswdBob + "']}", new: "], usrs: 1}",
			stage: store.StageCheck, object: "TrafficPolicy default/guard", want: "the users that this edit removes still get in",
		},
		"a user is removed, and another one is not valid": {
			files: map[string]string{"guard.yaml": guardWith(users)}, file: "guard.yaml", old: htpasswdBob, new: "carol:{MD5}x",
			stage: store.StageTranslate, object: "TrafficPolicy default/guard", want: "the users that this edit removes still get in",
		},
		"a policy without users": {
			files: map[string]string{"guard.yaml": guardWith("  acl: {defaultAction: allow, rules: [{action: deny, cidrs: [10.0.0.0/8]}]}\n")},
			file:  "guard.yaml", old: "10.0.0.0/8", new: "10.0.0.1/8",
			stage: store.StageTranslate, object: "TrafficPolicy default/guard", want: "the requests that this edit refuses still get through",
		},
		"a text that cannot be read": {
			files: map[string]string{"guard.yaml": guardWith("  cors: {allowOrigins: [https://a.example.com]}\n")}, file: "guard.yaml", old: "spec:", new: "spec: {",
			stage: store.StageRead, object: "TrafficPolicy default/guard", want: "the requests that this edit refuses still get through",
		},
		"a Secret with users": {
			files: map[string]string{
				"guard.yaml":  guardWith("  basicAuth: {secretRef: {name: users}}\n"),
				"secret.yaml": bytesOf("Secret", "users", ".htpasswd", htpasswdAlice+"\n"+htpasswdBob),
			},
			file: "secret.yaml", old: bytesOf("Secret", "users", ".htpasswd", htpasswdAlice+"\n"+htpasswdBob), new: bytesOf("Secret", "users", ".htpasswd", htpasswdAlice) + "zz: 1\n",
			stage: store.StageCheck, object: "Secret default/users", want: "the users that this edit removes still get in",
		},
		"a Secret with keys that labels select": {
			files: map[string]string{
				"guard.yaml":  guardWith("  apiKeyAuth: {secretSelector: {matchLabels: {clients: all}}}\n"),
				"secret.yaml": bytesOf("Secret", "keys", "one", "key-of-one"),
			},
			file: "secret.yaml", old: "\ndata:", new: "\ndta:",
			stage: store.StageCheck, object: "Secret default/keys", want: "the keys that this edit removes are still accepted",
		},
		"a Secret without a label that is selected by no value": {
			files: map[string]string{
				"guard.yaml":  guardWith("  apiKeyAuth: {secretSelector: {matchLabels: {team: ''}}}\n"),
				"secret.yaml": bytesOf("Secret", "keys", "one", "key-of-one"),
			},
			file: "secret.yaml", old: "\ndata:", new: "\ndta:",
			stage: store.StageCheck, object: "Secret default/keys",
		},
		"a Secret that nothing uses": {
			files: map[string]string{"secret.yaml": bytesOf("Secret", "keys", "one", "key-of-one")}, file: "secret.yaml", old: "\ndata:", new: "\ndta:",
			stage: store.StageCheck, object: "Secret default/keys",
		},
		"a policy of timeouts": {
			files: map[string]string{"guard.yaml": guardWith("  timeouts: {request: 1s}\n")}, file: "guard.yaml", old: "request: 1s", new: "request: 1",
			stage: store.StageCheck, object: "TrafficPolicy default/guard",
		},
		"a route": {file: "site.yaml", old: "name: eg", new: "name: none", stage: store.StageTranslate, object: "HTTPRoute default/site"},
		"a ReferenceGrant": {
			files: map[string]string{"grant.yaml": "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: all}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: '', kind: Service}]}\n"},
			file:  "grant.yaml", old: "kind: Service}", new: "kind: Service, zz: 1}",
			stage: store.StageCheck, object: "ReferenceGrant default/all", want: "the references that this edit forbids still work",
		},
		"a Namespace": {
			files: map[string]string{"n.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: x}}\n"},
			file:  "n.yaml", old: "{team: x}", new: "{team: 1}",
			stage: store.StageCheck, object: "Namespace a", want: "what this edit takes away from the namespace is still allowed",
		},
		"a GatewayExtension": {
			files: map[string]string{"e.yaml": "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: GatewayExtension\nmetadata: {name: e}\nspec: {extAuth: {grpcService: {backendRef: {name: s, port: 80}}}}\n"},
			file:  "e.yaml", old: "port: 80", new: "prt: 80",
			stage: store.StageCheck, object: "GatewayExtension default/e", want: "requests are still judged as before this edit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, r, log := newTestPipeline(t)
			p.observers = append(p.observers, &editLog{log: p.log, reader: p.reader})
			files := map[string]string{"gateway.yaml": oneGateway, "site.yaml": object("HTTPRoute", "site", false, routeTo("site.test"))}
			for file, text := range test.files {
				files[file] = text
			}
			p.reload(treeOfFiles(files))
			if strings.Contains(log.String(), "NOT APPLIED") {
				t.Errorf("before the edit: %s", log)
			}
			log.Reset()
			edited := strings.Replace(files[test.file], test.old, test.new, 1)
			if edited == files[test.file] {
				t.Fatalf("%q is not in %s", test.old, edited)
			}
			files[test.file] = edited
			p.reload(treeOfFiles(files))
			stale := r.published[len(r.published)-1].Stale
			if len(stale) != 1 || stale[0].Stage != test.stage || stale[0].Protects != (test.want != "") || stale[0].Key.String() != test.object {
				t.Errorf("stale is %+v", stale)
			}
			want := fmt.Sprintf(`"level":"error","object":%q,"file":%q,"line":`, test.object, test.file)
			if test.want == "" {
				want = ""
			}
			if got := log.String(); strings.Count(got, "NOT APPLIED") != min(1, len(want)) || !strings.Contains(got, want) ||
				want != "" && !strings.Contains(got, `"stage":"`+string(test.stage)+`","message":"NOT APPLIED: `+test.want+`"`) {
				t.Errorf("the log has\n%s", got)
			}
			if strings.Contains(log.String(), "W6ph5") || strings.Contains(log.String(), "key-of-one") {
				t.Errorf("the log has what a Secret has:\n%s", log)
			}
			log.Reset()
			files["other.yaml"] = object("HTTPRoute", "other", false, routeTo("other.test"))
			p.reload(treeOfFiles(files))
			if strings.Contains(log.String(), "NOT APPLIED") {
				t.Errorf("it is logged again:\n%s", log)
			}
		})
	}
}

// An edit that takes effect without a change of its file is logged with the object whose change did it.
func TestAnEditThatTakesEffectByItselfIsLogged(t *testing.T) {
	p, _, log := newTestPipeline(t)
	p.observers = append(p.observers, &editLog{log: p.log, reader: p.reader})
	files := map[string]string{"gateway.yaml": oneGateway, "site.yaml": object("HTTPRoute", "site", false, routeTo("site.test"))}
	p.reload(treeOfFiles(files))
	right := files["site.yaml"]
	files["site.yaml"] = strings.Replace(right, "name: eg", "name: second", 1)
	p.reload(treeOfFiles(files))
	files["second.yaml"] = strings.NewReplacer("name: eg", "name: second", "8080", "8081").Replace(oneGateway)
	files["third.yaml"] = strings.NewReplacer("name: eg", "name: third", "8080", "8082").Replace(oneGateway)
	log.Reset()
	p.reload(treeOfFiles(files))
	const want = `"level":"info","object":"HTTPRoute default/site","message":"an edit that was not applied takes effect now, because Gateway default/second changed"`
	if got := log.String(); !strings.Contains(got, want) {
		t.Errorf("the log has\n%s", got)
	}
	log.Reset()
	files["site.yaml"] = strings.Replace(right, "name: eg", "name: fourth", 1)
	p.reload(treeOfFiles(files))
	files["site.yaml"] = right
	p.reload(treeOfFiles(files))
	if got := log.String(); strings.Contains(got, "takes effect now") {
		t.Errorf("an edit of the file is logged:\n%s", got)
	}
}
