package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/api/meta"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/watcher"
)

// spoiltFolder is a random folder, of which some objects have mistakes.
type spoiltFolder struct {
	random *rand.Rand
	right  map[string]string // the objects as their authors mean them, by kind and name
	wrong  map[string]string // those that are written with a mistake
}

// spoiltNames returns the objects that a folder may have.
func spoiltNames() []string {
	return []string{"Gateway g0", "Gateway g1", "Backend b0", "Backend b1", "HTTPRoute r0", "HTTPRoute r1", "HTTPRoute r2", "HTTPRoute r3", "TrafficPolicy p0", "TrafficPolicy p1", "TrafficPolicy p2"}
}

// write returns a random version of an object.
func (m *spoiltFolder) write(what string) string {
	kind, name, _ := strings.Cut(what, " ")
	number := func(n int) int { return m.random.IntN(n) }
	switch kind {
	case "Gateway":
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s}\nspec:\n  gatewayClassName: gatefold\n  listeners:\n  - {name: http, port: %d, protocol: HTTP}\n", name, 8080+number(2))
	case "Backend":
		return fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: %s}\nspec: {static: {hosts: [{host: 127.0.0.1, port: %d}]}}\n", name, 1000+number(9))
	case "HTTPRoute":
		filter := ""
		if number(4) == 0 {
			filter = fmt.Sprintf("    filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: p%d}}]\n", number(3))
		}
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s}\nspec:\n  parentRefs: [{name: g%d}]\n  rules:\n  - matches: [{path: {value: /%d}}]\n%s    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b%d}]\n",
			name, number(2), number(4), filter, number(2))
	}
	text := fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: %s}\nspec:\n  basicAuth: {users: [\"alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\"]}\n  targetRefs:\n", name)
	for route := range 4 {
		if number(2) == 0 || route == 3 && strings.HasSuffix(text, "targetRefs:\n") {
			text += fmt.Sprintf("  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%d}\n", route)
		}
	}
	return text
}

// spoil returns a text with a mistake.
func (m *spoiltFolder) spoil(text string) string {
	spoiled := []string{
		strings.Replace(text, "spec:", "spec:\n  nofield: 1", 1),
		strings.Replace(text, "spec:", "spec: {", 1),
		strings.Replace(text, "kind: Backend, name: b", "kind: Backend, name: none", 1),
		strings.Replace(text, "[{name: g", "[{name: none", 1),
		strings.Replace(text, "protocol: HTTP", "protocol: HTPS", 1),
		strings.Replace(text, "{value: /", "{type: RegularExpression, value: '/(", 1),
		strings.Replace(text, "{SHA}", "{MD5}", 1),
		strings.Replace(text, "  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: r", "  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: none", 1),
		strings.Replace(text, "gatewayClassName: gatefold", "gatewayClassName: none", 1),
	}
	spoiled = slices.DeleteFunc(spoiled, func(s string) bool { return s == text })
	return spoiled[m.random.IntN(len(spoiled))]
}

// edit edits some objects. Some of the edits have mistakes.
func (m *spoiltFolder) edit() {
	names := spoiltNames()
	for range 1 + m.random.IntN(5) {
		what := names[m.random.IntN(len(names))]
		delete(m.wrong, what)
		switch m.random.IntN(8) {
		case 0:
			delete(m.right, what)
		default:
			m.right[what] = m.write(what)
			if m.random.IntN(3) == 0 {
				m.wrong[what] = m.spoil(m.right[what])
			}
		}
	}
}

// tree returns the folder: each object in a file of its own. The files are in another order if reversed is true.
func (m *spoiltFolder) tree(reversed, corrected bool) watcher.Tree {
	var files []watcher.File
	for i, what := range spoiltNames() {
		text, written := m.right[what]
		if !written {
			continue
		}
		if wrong, spoiled := m.wrong[what]; spoiled && !corrected {
			text = wrong
		}
		at := i
		if reversed {
			at = len(spoiltNames()) - i
		}
		files = append(files, watcher.File{Path: fmt.Sprintf("%02d.yaml", at), Content: []byte(text), Hash: sha256.Sum256([]byte(text))})
	}
	return watcher.Tree{Root: "folder", Files: watcher.FilesOf(files...)}
}

// answered returns the status of each request, 0 if a backend answers.
func answered(view *ir.View) map[string]uint32 {
	all := map[string]uint32{}
	for i := range 16 {
		query, err := explain.NewQuery("GET", fmt.Sprintf("http://a.example.com:%d/%d", 8080+i%2, i/4), nil)
		if err != nil {
			panic(err)
		}
		query.Gateway = fmt.Sprint("default/g", i/2%2)
		all[fmt.Sprint(query.Gateway, " ", query.Port, query.Path)] = explain.Request(view, query).Outcome.Status
	}
	return all
}

// TestRandomMistakesOpenNothing edits random folders. Some edits have mistakes. No request reaches a backend that the
// versions before asked for a password, and that the folder without the mistakes asks for a password, too. What is
// served does not depend on the order of files, and is what a new translator makes of it.
func TestRandomMistakesOpenNothing(t *testing.T) {
	seeds, first := testsize.Of(t, 8), testsize.Seed(t)
	for seed := range uint64(seeds) {
		m := &spoiltFolder{random: rand.New(rand.NewPCG(first, seed)), right: map[string]string{}, wrong: map[string]string{}}
		for _, what := range spoiltNames() {
			m.right[what] = m.write(what)
		}
		p, r, _ := newTestPipelineOf(t, Folder{})
		other, _, _ := newTestPipelineOf(t, Folder{})
		p.log, other.log = zerolog.Nop(), zerolog.Nop()
		p.reload(m.tree(false, false))
		other.reload(m.tree(true, false))
		for step := range 30 {
			before := answered(p.translation.translator.Preview().View())
			m.edit()
			p.reload(m.tree(false, false))
			other.reload(m.tree(true, false))
			right, _, _ := newTestPipelineOf(t, Folder{})
			right.reload(m.tree(false, true))
			meant, now := answered(right.translation.translator.Preview().View()), answered(p.translation.translator.Preview().View())
			for request, status := range before {
				if status == 401 && meant[request] == 401 && now[request] == 0 {
					t.Errorf("seed %d, step %d: %s is open; the folder is\n%s", seed, step, request, folderText(m))
				}
			}
			if differ := fmt.Sprint(answered(other.translation.translator.Preview().View())) != fmt.Sprint(now); differ {
				t.Errorf("seed %d, step %d: the order of files makes a difference", seed, step)
			}
			cold := translate.New(p.translation.options)
			cold.Hold(p.translation.holders)
			made := cold.Apply(p.translation.withheld.filter(p.reader.all()))
			if a, b := withoutMachine(made.Problems), withoutMachine(p.translation.translator.Preview().Problems); !slices.Equal(a, b) {
				t.Errorf("seed %d, step %d: a new translator has other problems:\n%v\n%v", seed, step, a, b)
			}
			if t.Failed() {
				t.Fatalf("%d reloads", len(r.reloads))
			}
		}
	}
}

// withoutMachine returns problems as text.
func withoutMachine(problems []manifest.Problem) (all []string) {
	for _, p := range problems {
		all = append(all, objectError(p))
	}
	return all
}

// folderText returns the texts of a folder.
func folderText(m *spoiltFolder) string {
	var out bytes.Buffer
	for file := range m.tree(false, false).Files.All() {
		fmt.Fprintf(&out, "-- %s --\n%s", file.Path, file.Content)
	}
	return out.String()
}

// What is held is held after a restart, too: the saved state has the version that serves, and the folder has the edit.
func TestHeldEditsOutliveARestart(t *testing.T) {
	guarded := func(file, target string) watcher.File {
		text := []byte(fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: %s}
spec:
  cors: {allowOrigins: ["https://a.example.com"]}
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}]
`, file, target))
		return watcher.File{Path: file + ".yaml", Content: text, Hash: sha256.Sum256(text)}
	}
	route := func(name, host string) watcher.File {
		text := []byte(object("HTTPRoute", name, false, routeTo(host)))
		return watcher.File{Path: name + ".yaml", Content: text, Hash: sha256.Sum256(text)}
	}
	dir, folder := t.TempDir(), tree(oneGateway)
	p, end := runOnState(t, dir)
	folder = with(with(folder, route("one", "one.test")), guarded("guard", "one"))
	p.reload(folder)
	mistaken := route("one", "two.test")
	mistaken.Content = bytes.Replace(mistaken.Content, []byte("name: eg"), []byte("name: none"), 1)
	mistaken.Hash = sha256.Sum256(mistaken.Content)
	folder = with(folder, mistaken)
	folder = with(with(folder, route("fresh", "fresh.test")), guarded("guard", "fresh")) // it waits for one
	check := func(when string) {
		t.Helper()
		got := answersOf(translate.Result{View: p.translation.translator.Preview().View})
		if got["one.test"] != "redirect" || got["two.test"] != "" || got["fresh.test"] != "500" {
			t.Errorf("%s: %v", when, got)
		}
		if held := p.reader.store.Held(); len(held) != 2 {
			t.Errorf("%s: %d edits are held: %v", when, len(held), held)
		}
	}
	p.reload(folder)
	check("after the edit")
	end()
	for range 2 {
		p, end = runOnState(t, dir)
		p.expect()
		p.reload(folder)
		check("after a restart")
		end()
	}
}

// A route whose edit is taken back because of an edit of its Gateway, and then takes effect, has its own status.
func TestAnEditThatTakesEffectAtASecondTryHasItsStatus(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	p.reload(tree(oneGateway + "\n" + object("HTTPRoute", "one", false, routeTo("one.test"))))
	p.reload(tree(strings.Replace(oneGateway, "protocol: HTTP", "protocol: HTPS", 1) + "\n" + object("HTTPRoute", "one", false, routeTo("two.test"))))
	if got := answers(r); got["two.test"] != "redirect" || got["one.test"] != "" {
		t.Fatalf("%v", got)
	}
	last := map[string]bool{}
	for _, result := range r.published {
		for _, u := range result.Status {
			if routes, ok := u.Status.(*gwv1.RouteStatus); ok {
				last[u.Key.Name] = meta.IsStatusConditionTrue(routes.Parents[0].Conditions, string(gwv1.RouteConditionAccepted))
			}
		}
	}
	if !last["one"] {
		t.Error("the status of the route is that of its first try")
	}
}

// Two texts that cannot be parsed hold an edit: when one of them is fixed, the other one still does.
func TestEachTextOfAUnitHolds(t *testing.T) {
	guard := func(name, spec string) string {
		return fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: %s}\nspec:%s\n  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]\n  acl: {defaultAction: allow, rules: [{action: deny, cidrs: [192.0.2.0/24]}]}\n", name, spec)
	}
	files := strictFolder()
	files["policy.yaml"], files["a.yaml"], files["b.yaml"] = "", guard("a", ""), guard("b", "")
	p, r, _ := newTestPipeline(t)
	p.reload(teamsTree(files))
	files["a.yaml"], files["b.yaml"] = guard("a", " {"), guard("b", " {")
	files["shop.yaml"] = strings.Replace(files["shop.yaml"], "shop.test", "two.test", 1)
	for _, fixed := range []string{"", "a", "b"} {
		if fixed != "" {
			files[fixed+".yaml"] = guard(fixed, "")
		}
		p.reload(teamsTree(files))
		if held := !r.serves("two.test"); held != (fixed != "b") {
			t.Errorf("%q is fixed: it is %t that the edit is held", fixed, held)
		}
	}
}

// A removed object that waits for another one of its unit is told at the file that had it.
func TestAHeldRemovalHasAFile(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	files := strictFolder()
	p.reload(teamsTree(files))
	files["shop.yaml"] = strings.Replace(files["shop.yaml"], "name: shop,", "name: store,", 1)
	files["policy.yaml"] = strings.NewReplacer("name: shop}", "name: store}", "action: allow", "action: alow").Replace(files["policy.yaml"])
	p.reload(teamsTree(files))
	last, told := r.published[len(r.published)-1], false
	for _, problem := range last.Problems {
		told = told || problem.Code == waitsFor && problem.Object.Name == "shop" && problem.File == "shop.yaml"
	}
	if !told {
		t.Errorf("the problems are %+v", last.Problems)
	}
	for _, stale := range last.Stale {
		if stale.File == "" {
			t.Errorf("no file: %+v", stale)
		}
	}
}

// An edit by which a route asks for the connections that another one has is not applied: it would lose its own.
func TestAnEditThatAsksForTheListenerOfAnotherRouteIsHeld(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	stream := func(name, listener string) string {
		return "---\n" + object("TCPRoute", name, false, "parentRefs: [{name: eg, sectionName: "+listener+"}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart}]}]")
	}
	folder := func(later string) watcher.Tree {
		gateway := strings.Replace(oneGateway, "listeners: [", "listeners: [{name: first, protocol: TCP, port: 9000}, {name: second, protocol: TCP, port: 9001}, ", 1)
		return tree(gateway + "\n---\n" + strictFolder()["backend.yaml"] + stream("held", "first") + stream("a", later))
	}
	p.reload(folder("second"))
	for _, edit := range []struct {
		listener string
		held     int
	}{{"first", 1}, {"second", 0}} {
		p.reload(folder(edit.listener))
		if held := p.reader.store.Held(); len(held) != edit.held {
			t.Errorf("listener %s: held are %v", edit.listener, held)
		}
		served := map[string]string{}
		for _, gateway := range r.published[len(r.published)-1].View().Gateways {
			for _, port := range gateway.Ports {
				for _, s := range port.Port.Streams {
					served[s.Listener] = s.Route.Origin.Key.Name
				}
			}
		}
		if served["first"] != "held" || served["second"] != "a" {
			t.Errorf("listener %s: %v", edit.listener, served)
		}
	}
}
