package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// staleOnes is what a Change says is stale, an object a line.
func staleOnes(c Change) string {
	var b strings.Builder
	for _, s := range c.Stale {
		fmt.Fprintf(&b, "%s %s:%d:%d since %s: %s\n", s.Key, s.File, s.Line, s.Column, s.Since.Format(time.TimeOnly), s.Message)
	}
	return b.String()
}

// An object whose last valid version is served is stale from the Tree that broke it until
// one that does not, with the error that is to be fixed. A restart with saved state goes on.
func TestStale(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(minute int, files map[string]string) watcher.Tree {
		tree := treeOf(files)
		tree.Noticed = first.Add(time.Duration(minute) * time.Minute)
		return tree
	}
	broken := strings.Replace(route("a", "/9"), "rules:", "rulez:", 1)
	s := newStore(t, Options{Save: true})
	step := func(minute int, files map[string]string, want string) Change {
		t.Helper()
		change := s.Apply(at(minute, files))
		if got := staleOnes(change); got != want {
			t.Errorf("after %d minutes stale:\n%swant:\n%s", minute, got, want)
		}
		return change
	}
	type files = map[string]string
	step(0, files{"x.yaml": route("a", "/1") + "---\n" + route("b", "/1"), "y.yaml": route("c", "/1")}, "")

	// An invalid document; its valid neighbour is served as it is now.
	const a = "HTTPRoute default/a x.yaml:8:3 since 03:05:05: unknown field \"rulez\"\n"
	before := step(1, files{"x.yaml": broken + "---\n" + route("b", "/2"), "y.yaml": route("c", "/1")}, a)
	// Another edit keeps the time, and the list where nothing in it changed.
	if now := step(2, files{"x.yaml": broken + "---\n" + route("b", "/2"), "y.yaml": route("c", "/2")}, a); !SameStale(before.Stale, now.Stale) {
		t.Error("an edit of another file made the list anew")
	}
	// A file that cannot be read at all.
	yaml, found := newStore(t, Options{}).Apply(at(0, files{"y.yaml": "kind: [\n"})).Problems, a+"HTTPRoute default/c y.yaml:1:7 since 03:07:05: "
	found += yaml[0].Message + "\n"
	step(3, files{"x.yaml": broken + "---\n" + route("b", "/2"), "y.yaml": "kind: [\n"}, found)

	// An emptied folder is frozen: what was stale is.
	step(4, files{}, found)

	saved := s.Saved()
	s = newStore(t, Options{Save: true})
	if unusable := s.Restore(saved, true); len(unusable) > 0 {
		t.Fatal(unusable)
	}
	step(9, files{"x.yaml": broken + "---\n" + route("b", "/2"), "y.yaml": "kind: [\n"}, found)

	// A file that is valid without the object removes it; a valid version ends it.
	step(10, files{"x.yaml": route("b", "/2"), "y.yaml": route("c", "/3")}, "")
}

// A stale object has the stage at which its newest version fails, and whether the version that is served is saved.
func TestStaleObjectsHaveAStage(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n"
	users := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: p}\n" +
		"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}], basicAuth: {users: ['a:{SHA}x']}}\n"
	first := map[string]string{"a.yaml": route("a", "/1"), "b.yaml": route("b", "/1"), "c.yaml": route("c", "/1"), "d.yaml": route("d", "/1"), "s.yaml": secret, "p.yaml": users}
	second := map[string]string{
		"a.yaml": strings.Replace(route("a", "/1"), "rules:", "rulez:", 1), "b.yaml": "kind: [\n", "c.yaml": "", "d.yaml": route("d", "/2"),
		"s.yaml": strings.Replace(secret, "stringData", "stringDat", 1), "p.yaml": strings.Replace(users, "users:", "usrs:", 1),
	}
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{}, "Secret s check unsaved, TrafficPolicy p check unsaved, HTTPRoute a check unsaved, HTTPRoute b read unsaved, HTTPRoute c read unsaved, HTTPRoute d translate unsaved"},
		{Options{Save: true}, "Secret s check unsaved, TrafficPolicy p check unsaved, HTTPRoute a check, HTTPRoute b read, HTTPRoute c read, HTTPRoute d translate"},
		{Options{Save: true, SaveSecrets: true}, "Secret s check, TrafficPolicy p check, HTTPRoute a check, HTTPRoute b read, HTTPRoute c read, HTTPRoute d translate"},
	} {
		s := newStore(t, test.options)
		s.Apply(treeOf(first))
		s.Applied(nil)
		s.Apply(treeOf(second))
		d := s.Edits()[0]
		change := s.Freeze(Frozen{Held: map[manifest.Key]Held{d.Key: {Candidate: d.After}}})
		stages := func(list []Stale) string {
			var all []string
			for _, one := range list {
				words := fmt.Sprint(one.Key.Kind, " ", one.Key.Name, " ", one.Stage)
				if one.Unsaved {
					words += " unsaved"
				}
				all = append(all, words)
			}
			return strings.Join(all, ", ")
		}
		if got := stages(change.Stale); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if got := stages(s.Freeze(Frozen{All: &Reason{}}).Stale); !strings.Contains(got, "HTTPRoute d frozen") || !strings.Contains(got, "HTTPRoute a check") {
			t.Errorf("all is frozen: %s", got)
		}
	}
}

// The targets of a stale policy follow the labels in its namespace. An edit of another
// namespace looks at none of them.
func TestStaleSelectorsFollowLabels(t *testing.T) {
	labelled := func(namespace, name, team string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s, namespace: %s, labels: {team: %s}}\nspec: {}\n", name, namespace, team)
	}
	policy := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: p, namespace: a}\n" +
		"spec: {targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {team: x}}], timeouts: {request: 1s}}\n"
	s := newStore(t, Options{})
	files := map[string]string{"p.yaml": policy, "r.yaml": labelled("a", "r", "x"), "s.yaml": labelled("a", "s", "z"), "b.yaml": labelled("b", "r", "x")}
	apply := func(want string) {
		t.Helper()
		change := s.Apply(treeOf(files))
		if len(change.Stale) != 1 || fmt.Sprint(change.Stale[0].Targets) != want {
			t.Errorf("stale are %v, want the targets %s", change.Stale, want)
		}
	}
	s.Apply(treeOf(files))
	files["p.yaml"] = strings.Replace(policy, "timeouts", "timeoutz", 1)
	apply("[HTTPRoute a/r]")
	before := s.problemLists.selections["a"]
	files["b.yaml"] = labelled("b", "r", "z")
	apply("[HTTPRoute a/r]")
	if s.problemLists.selections["a"] != before {
		t.Error("an edit of namespace b looks at the labels of namespace a")
	}
	files["s.yaml"] = labelled("a", "s", "x")
	apply("[HTTPRoute a/r HTTPRoute a/s]")
	delete(files, "r.yaml")
	apply("[HTTPRoute a/s]")
}
