package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
)

// TestBrokenPoliciesStayClosed takes every valid policy of the cases, breaks it at random, and
// starts cold: each rule and cluster that the valid policy is for is closed by the broken
// one, or the broken one is a valid policy itself. Only policies whose kind, namespace or
// targets cannot be read, or are other ones now, are let off (see exempt).
func TestBrokenPoliciesStayClosed(t *testing.T) {
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	plain := newWorld(t).store
	breaks, broken, closed := testsize.Of(t, 1), 0, 0
	for n, c := range all {
		step, folder := c.Steps[0], plain
		if c.Store.ClusterPaths != nil {
			folder = newStore(t, c.Store)
		}
		valid := sync.OnceValue(func() *world {
			w := newCaseWorld(t, c)
			w.apply(tree(step.Files))
			return w
		})
		for _, name := range slices.Sorted(maps.Keys(step.Files)) {
			documents := strings.Split(step.Files[name], "\n---\n")
			for at, document := range documents {
				if !strings.Contains(document, "\nkind: TrafficPolicy\n") && !strings.Contains(document, "\nkind: BackendTLSPolicy\n") && !strings.Contains(document, "\nkind: BackendConfigPolicy\n") {
					continue
				}
				if yaml.Unmarshal([]byte(document), new(map[string]any)) != nil {
					continue // the case breaks it itself
				}
				r := rand.New(rand.NewPCG(uint64(n), uint64(at)))
				for range breaks {
					files := maps.Clone(step.Files)
					changed := slices.Clone(documents)
					changed[at] = breakDocument(r, document)
					files[name] = strings.Join(changed, "\n---\n")
					now := startedOn(folder, c.Options) // which empties the folder: a cold start
					now.apply(tree(files))
					if exempt(valid(), now) {
						continue
					}
					broken++
					closed += compareClosed(t, c.Name, changed[at], valid(), now)
				}
			}
		}
	}
	if broken < 50 || closed < 50 {
		t.Errorf("%d policies were broken, %d rules and clusters closed: that proves nothing", broken, closed)
	}
}

// exempt lets off an edit after which the policies are valid, all of them, and one by which
// no policy is known as invalid that closes at least what the missing one was for: its kind,
// namespace, or its targets cannot be read, or it names one where it selected some.
func exempt(valid, now *world) bool {
	for key, object := range valid.objects {
		if now.objects[key] != nil || !strings.HasSuffix(key.Kind, "Policy") {
			continue
		}
		names, selects := targetNames(object)
		if selects && !slices.ContainsFunc(slices.Collect(maps.Values(now.invalid)), func(i *store.Invalid) bool {
			return i.Key.Kind == key.Kind && i.Key.Namespace == key.Namespace && slices.ContainsFunc(i.Targets, func(t store.Target) bool { return t.Name == "" })
		}) {
			return true
		}
		for _, target := range names {
			if !slices.ContainsFunc(slices.Collect(maps.Values(now.invalid)), func(i *store.Invalid) bool {
				return i.Key.Kind == key.Kind && i.Key.Namespace == key.Namespace && slices.ContainsFunc(i.Targets, func(t store.Target) bool {
					return t.Name == "" || t.Name == target.Name && (t.Section == "" || t.Section == target.SectionName)
				})
			}) {
				return true
			}
		}
		return false
	}
	return true
}

// targetName is what a targetRef names.
type targetName struct{ Name, SectionName string }

// targetNames are the names in targetRefs, and whether there are targetSelectors.
func targetNames(object *manifest.Object) (names []targetName, selects bool) {
	text, err := yaml.Marshal(object.Value)
	if err != nil {
		panic(err)
	}
	var read struct {
		Spec struct {
			TargetRefs      []targetName
			TargetSelectors []any
		}
	}
	if err := yaml.Unmarshal(text, &read); err != nil {
		panic(err)
	}
	return read.Spec.TargetRefs, len(read.Spec.TargetSelectors) > 0
}

// compareClosed wants what the missing policy was part of to be closed.
func compareClosed(t *testing.T, name, document string, valid, now *world) (closed int) {
	t.Helper()
	var missing []manifest.Key
	for key := range valid.objects {
		if now.objects[key] == nil && strings.HasSuffix(key.Kind, "Policy") {
			missing = append(missing, key)
		}
	}
	after := map[string]*ir.Rule{}
	eachRule(now.view(), func(at string, rule *ir.Rule) { after[at] = rule })
	eachRule(valid.view(), func(at string, rule *ir.Rule) {
		// A closed rule has none for preflight requests: they go where they would without it.
		if rule.Action.Forward == nil || rule.Preflight != nil || !slices.ContainsFunc(rule.Action.Parts, func(p ir.Part) bool { return slices.Contains(missing, p.Object) }) {
			return
		}
		closed++
		if other := after[at]; other == nil || other.Action.Respond == nil {
			t.Errorf("%s: %s is open without %v, with\n%s", name, at, missing, document)
		}
	})
	for cluster, was := range valid.view().Clusters {
		is := now.view().Clusters[cluster]
		if is != nil && was.Closed == "" && slices.ContainsFunc(was.Objects, func(o manifest.Key) bool { return slices.Contains(missing, o) }) {
			closed++
			if is.Closed == "" {
				t.Errorf("%s: %s is open without %v, with\n%s", name, cluster, missing, document)
			}
		}
	}
	return closed
}

// eachRule calls fn for all rules of a View, by a name that is theirs alone.
func eachRule(view *ir.View, fn func(at string, rule *ir.Rule)) {
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					fn(fmt.Sprintf("%s %s %s %s %s", gateway.Name, port.Port.Name, host.Chain, host.Domain, rule.Name), rule)
				}
			}
		}
	}
}

// breakDocument changes one thing of a document: a key, a value, its type, a field more, a
// field less, a line twice.
func breakDocument(r *rand.Rand, document string) string {
	var object map[string]any
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		panic(err)
	}
	if r.IntN(6) == 0 { // a line twice is mostly a key twice
		lines := strings.Split(strings.TrimSuffix(document, "\n"), "\n")
		at := r.IntN(len(lines))
		return strings.Join(slices.Insert(lines, at, lines[at]), "\n") + "\n"
	}
	for range 1 + r.IntN(2) {
		breakMap(r, object)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func breakMap(r *rand.Rand, fields map[string]any) {
	names := slices.Sorted(maps.Keys(fields))
	if len(names) == 0 {
		fields["oops"] = 1
		return
	}
	name := pick(r, names...)
	switch r.IntN(6) {
	case 0:
		fields[pick(r, "oops", "rbac", "tls", "targetRef")] = pick[any](r, 1, "x", []any{}, map[string]any{"a": 1})
	case 1:
		fields[misspelt(r, name)] = fields[name]
		delete(fields, name)
	case 2:
		fields[name] = pick[any](r, nil, true, 7, -1, 1.5, "x y", strings.Repeat("z", 300), []any{fields[name]}, map[string]any{name: fields[name]})
	default:
		breakValue(r, fields, name)
	}
}

func breakValue(r *rand.Rand, fields map[string]any, name string) {
	switch value := fields[name].(type) {
	case map[string]any:
		breakMap(r, value)
	case []any:
		if inside, ok := pick(r, append(value, 5)...).(map[string]any); ok {
			breakMap(r, inside)
			return
		}
		fields[name] = append(value, pick[any](r, 5, "x", map[string]any{"oops": 1}))
	case string:
		fields[name] = misspelt(r, value+"x")
	default:
		delete(fields, name)
	}
}

// misspelt swaps or drops a letter, or changes its case.
func misspelt(r *rand.Rand, text string) string {
	at := r.IntN(max(1, len(text)-1))
	switch r.IntN(3) {
	case 0:
		return text[:at] + text[at+1:]
	case 1:
		return text[:at] + strings.ToUpper(text[at:at+1]) + text[at+1:]
	}
	return text[:at] + text[at:at+1] + text[at:]
}
