package translate_test

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/expect"
)

var update = flag.Bool("update", false, "rewrite want/ and rebuilt of the cases, never requests")

// TestCases runs every case through the View: requests as explain answers them,
// outputs as the archive has them, and after each edit warm equals cold. The
// examples are cases, too.
func TestCases(t *testing.T) {
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := cases.Examples("../examples")
	if err != nil || len(all) == 0 || len(examples) == 0 {
		t.Fatal("no cases, or no examples", err)
	}
	all = append(all, examples...)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			w, asked := newCaseWorld(t, c), 0
			for _, step := range c.Steps {
				problems := w.apply(step.Tree(cases.Network))
				w.checkCold(t)
				for _, request := range step.Requests {
					asked++
					if !request.OnlyEnvoy {
						w.ask(t, step.Prefix, request)
					}
				}
				w.checkWants(t, c, step.Prefix, problems)
			}
			if asked == 0 {
				t.Fatal("the case sends no request")
			}
		})
	}
}

// TestCasesInReverse runs every case with its files and documents the other way
// round: what serves, and every status, is the same at the start and after each
// edit. A case whose heading says "order matters" is left out.
func TestCasesInReverse(t *testing.T) {
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	one, other := newWorld(t).store, newWorld(t).store // they read the schemas once
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			if strings.Contains(folded(c.Heading), "order matters") {
				t.Skip("its heading says that order matters")
			}
			one, other := one, other
			if c.Store.ClusterPaths != nil {
				one, other = newStore(t, c.Store), newStore(t, c.Store)
			}
			forth, back := startedOn(one, c.Options), startedOn(other, c.Options)
			for _, step := range c.Steps {
				forth.apply(tree(step.Files))
				back.apply(tree(reversed(step.Files)))
				back.isAsServed(t, forth, step)
			}
		})
	}
}

// isAsServed compares what a world serves after a step with what another world serves.
func (w *world) isAsServed(t *testing.T, forth *world, step cases.Step) {
	t.Helper()
	for _, request := range step.Requests {
		if !request.OnlyEnvoy {
			w.ask(t, "reversed: "+step.Prefix, request)
		}
	}
	if got, want := unreversed(viewText(w.view())), viewText(forth.view()); got != want {
		t.Errorf("%sthe View differs at %s", step.Prefix, firstDifference(got, want))
	}
	got, want := unreversed(w.statusText()), forth.statusText()
	if !slices.Equal(strings.Fields(got), strings.Fields(want)) { // longer names wrap lines elsewhere
		t.Errorf("%sthe status differs at %s", step.Prefix, firstDifference(got, want))
	}
}

// startedOn empties a store and makes a world on it.
func startedOn(s *store.Store, options translate.Options) *world {
	s.AllowEmpty()
	s.Apply(tree(nil))
	return newWorldOn(s, options)
}

// reversed returns the files other names, so that the last of a directory is its first, and turns
// the documents of each round. A file keeps its new name when others come and go, and its directory.
func reversed(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		documents := strings.Split(strings.TrimSuffix(text, "\n"), "\n---\n")
		slices.Reverse(documents)
		var rank strings.Builder
		directory, base := path.Split(name)
		for _, c := range []byte(base) {
			fmt.Fprintf(&rank, "%02x", 255-c)
		}
		out[directory+rank.String()+"~"+base] = strings.Join(documents, "\n---\n") + "\n"
	}
	return out
}

// unreversed takes back what reversed did to the names of policies that have none of their
// own, which are made of their files' names.
func unreversed(text string) string {
	return regexp.MustCompile(`([._]in_)([0-9a-f]{2})+_`).ReplaceAllString(text, "$1")
}

// ask compares explain's answer with what the case says. What explain does not know is compared on a
// real Envoy, but for what a backend receives.
func (w *world) ask(t *testing.T, prefix string, r expect.Request) {
	t.Helper()
	result := expect.NewJudge(w.view(), netip.MustParseAddr(cases.Client)).Judge(r)
	for _, d := range result.Differences {
		t.Errorf("%s%s\n\texplain (%v): %s: %s", prefix, r.Line, result.Rules, d.Of, d.Got)
	}
	for _, d := range result.Doubts {
		if strings.HasPrefix(d.Of, "request ") {
			t.Errorf("%s%s\n\texplain: %s: %s", prefix, r.Line, d.Of, d.Why)
		}
	}
}

// hole matches a sentence in which a list or a name is empty.
var hole = regexp.MustCompile(`: ?[;,]|: ?$|, ?$|  |^ | $|\bare ?$`)

// checkWants compares the outputs that the archive has. No message has a hole.
func (w *world) checkWants(t *testing.T, c *cases.Case, prefix string, problems []manifest.Problem) {
	t.Helper()
	for _, p := range problems {
		for _, text := range []string{p.Message, p.Hint} {
			if hole.MatchString(text) {
				t.Errorf("%s%s %s: %q has a hole", prefix, p.Position(), p.Code, text)
			}
		}
	}
	outputs := map[string]func() string{
		"want/xds.yaml":    w.xdsText,
		"want/status.yaml": w.statusText,
		"want/infra":       w.infraText,
		"want/problems":    func() string { return problemsText(problems) },
		"want/messages":    func() string { return messagesText(problems) },
		"rebuilt":          func() string { return strings.Join(append(w.rebuilt, ""), "\n") },
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		want, ok := c.File(prefix + name)
		if !ok {
			continue
		}
		got := outputs[name]()
		if *update {
			if err := c.Update(prefix+name, got); err != nil {
				t.Fatal(err)
			}
		} else if got != want {
			t.Errorf("%s%s differs at %s\n(go test ./translate -run TestCases -update rewrites it)", prefix, name, firstDifference(got, want))
		}
	}
}

func problemsText(problems []manifest.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s:%d:%d %s %s %s\n", p.File, p.Line, p.Column, p.Severity, p.Code, p.Field)
	}
	return b.String()
}

// messagesText has what a user reads of the problems.
func messagesText(problems []manifest.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s:%d:%d %s %s\n    %s\n", p.File, p.Line, p.Column, p.Severity, p.Code, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, "    help: %s\n", p.Hint)
		}
	}
	return b.String()
}

func (w *world) xdsText() string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(w.resources)) {
		resource := w.resources[at].Resource
		message, err := anypb.UnmarshalNew(&anypb.Any{TypeUrl: resource.Type, Value: resource.Body}, proto.UnmarshalOptions{})
		if err != nil {
			panic(err)
		}
		text, err := protojson.Marshal(message)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "--- # %s\n%s", at, yamlOf(text))
	}
	return b.String()
}

func (w *world) statusText() string {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(w.statuses), manifest.CompareKeys) {
		fmt.Fprintf(&b, "--- # %s\n%s", key, yamlOf([]byte(mustJSON(w.statuses[key].Status))))
	}
	return b.String()
}

func yamlOf(json []byte) string {
	text, err := yaml.JSONToYAML(json)
	if err != nil {
		panic(err)
	}
	return string(text)
}
