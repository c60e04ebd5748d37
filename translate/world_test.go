package translate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
	"github.com/gatefold/gatefold/watcher"
)

// bind is where Gateways without addresses listen in tests.
var bind = []string{"127.0.0.1"}

// world is a store and a translator with all that they have published.
type world struct {
	store      *store.Store
	translator *translate.Translator
	objects    map[manifest.Key]*manifest.Object
	invalid    map[manifest.Key]*store.Invalid
	options    translate.Options
	quarantine translate.Quarantine
	discovered translate.Discoveries
	// ran returns the rules that ran since it was called last; rebuilt are those of the last apply.
	ran     func() []string
	rebuilt []string
	state
}

// state is what a client that heard every Result knows.
type state struct {
	resources map[string]xds.Update
	statuses  map[manifest.Key]status.Update
	infra     map[string]*ir.Infra
	problems  []manifest.Problem
	last      translate.Result
	view      func() *ir.View
	// idle names updates that told what was known already.
	idle []string
}

func newState() state {
	return state{resources: map[string]xds.Update{}, statuses: map[manifest.Key]status.Update{}, infra: map[string]*ir.Infra{}}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, translate.Options{})
}

// newWorldWith makes a world with options beside Bind.
func newWorldWith(t testing.TB, options translate.Options) *world {
	t.Helper()
	return newWorldOn(newStore(t, store.Options{}), options)
}

// newCaseWorld makes a world with the options of a case, those of its Store included.
func newCaseWorld(t testing.TB, c *cases.Case) *world {
	t.Helper()
	return newWorldOn(newStore(t, c.Store), c.Options)
}

func newStore(t testing.TB, options store.Options) *store.Store {
	t.Helper()
	s, err := store.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newWorldOn makes a world on a store that has nothing in it.
func newWorldOn(s *store.Store, options translate.Options) *world {
	options.Bind = bind
	translator := translate.New(options)
	return &world{
		store: s, objects: map[manifest.Key]*manifest.Object{}, invalid: map[manifest.Key]*store.Invalid{}, state: newState(),
		options: options, translator: translator, ran: translator.Ran(),
	}
}

// apply takes in a folder and returns every problem, located.
func (w *world) apply(tree watcher.Tree) []manifest.Problem {
	change := w.note(tree)
	w.hear(w.translator.Apply(change))
	w.rebuilt = w.ran()
	problems := append(slices.Clone(change.Problems), w.store.Locate(w.problems)...)
	manifest.SortProblems(problems)
	return problems
}

func (s *state) hear(r translate.Result) {
	for _, update := range r.Delta {
		at := update.Gateway + " " + update.Type + " " + update.Name
		known, ok := s.resources[at]
		if !ok && update.Resource == nil || ok && update.Resource != nil && sameResource(known, update) {
			s.idle = append(s.idle, at)
		}
		if update.Resource == nil {
			delete(s.resources, at)
		} else {
			s.resources[at] = update
		}
	}
	for _, update := range r.Infra {
		if known := s.infra[update.Gateway]; reflect.DeepEqual(known, update.Infra) {
			s.idle = append(s.idle, "infra of "+update.Gateway)
		}
		if s.infra[update.Gateway] = update.Infra; update.Infra == nil {
			delete(s.infra, update.Gateway)
		}
	}
	for _, update := range r.Status {
		if known, ok := s.statuses[update.Key]; !ok && update.Status == nil || ok && reflect.DeepEqual(known, update) {
			s.idle = append(s.idle, "status of "+update.Key.String())
		}
		if update.Status == nil {
			delete(s.statuses, update.Key)
		} else {
			s.statuses[update.Key] = update
		}
	}
	s.problems, s.last, s.view = r.Problems, r, r.View
}

// cold returns what a fresh translator makes of the store's present objects.
func (w *world) cold() state {
	s, fresh := newState(), translate.New(w.options)
	fresh.Quarantine(w.quarantine)
	fresh.Discover(w.discovered)
	fresh.Hold(w.last.Holders)
	s.hear(fresh.Apply(w.present()))
	return s
}

// present returns all objects as one Change.
func (w *world) present() store.Change {
	change := store.Change{}
	for _, key := range slices.SortedFunc(maps.Keys(w.objects), manifest.CompareKeys) {
		change.Set = append(change.Set, w.objects[key])
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.invalid), manifest.CompareKeys) {
		change.Invalid = append(change.Invalid, w.invalid[key])
	}
	return change
}

// text writes everything down, byte for byte.
func (s *state) text() string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(s.resources)) {
		fmt.Fprintf(&b, "%s %x\n", at, s.resources[at].Resource.Body)
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.statuses), manifest.CompareKeys) {
		text, err := json.Marshal(s.statuses[key])
		fmt.Fprintln(&b, key, string(text), err)
	}
	b.WriteString(s.infraText())
	for _, problem := range s.problems {
		fmt.Fprintf(&b, "%+v\n", problem)
	}
	b.WriteString(viewText(s.view()))
	return b.String()
}

// infraText writes down what Gateways need of their machine.
func (s *state) infraText() string {
	var b strings.Builder
	for _, gateway := range slices.Sorted(maps.Keys(s.infra)) {
		fmt.Fprintf(&b, "%s\n", mustJSON(s.infra[gateway]))
	}
	return b.String()
}

// viewText writes a View down, rule by rule.
func viewText(view *ir.View) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(view.Clusters)) {
		fmt.Fprintln(&b, mustJSON(view.Clusters[name]))
	}
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			fmt.Fprintf(&b, "%s %s\n", gateway.Name, mustJSON(port.Port))
			for _, host := range port.Hosts {
				fmt.Fprintln(&b, " ", host.Chain, host.Domain, host.Len, host.Forged)
				for rule := range host.Rules {
					fmt.Fprintf(&b, "    %s %s %v\n", rule.Name, mustJSON(rule), attachedTo(host, rule))
				}
			}
		}
	}
	return b.String()
}

// attachedTo returns the policies that affect a rule. It returns none for a large host, because Attached
// takes time in the number of rules.
func attachedTo(host ir.HostView, rule *ir.Rule) []manifest.Key {
	const maxRules = 100
	if host.Attached == nil || host.Len > maxRules {
		return nil
	}
	return host.Attached(rule)
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// firstDifference names the first line in which two texts differ.
func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, left[i], right[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(left), len(right))
}

// checkCold fails unless the incremental state equals a cold rebuild, and unless
// every update on the way to it was news.
func (w *world) checkCold(t testing.TB) {
	t.Helper()
	if len(w.idle) > 0 {
		t.Fatalf("updates that changed nothing: %q", w.idle)
	}
	if cold := w.cold(); !w.equals(&cold) {
		t.Fatalf("incremental differs from cold at %s", firstDifference(w.text(), cold.text()))
	}
}

// equals compares everything published, byte for byte.
func (s *state) equals(other *state) bool {
	return maps.EqualFunc(s.resources, other.resources, sameResource) && reflect.DeepEqual(s.statuses, other.statuses) && reflect.DeepEqual(s.infra, other.infra) && slices.Equal(s.problems, other.problems) && sameView(s.view(), other.view())
}

func sameResource(a, b xds.Update) bool {
	return bytes.Equal(a.Resource.Body, b.Resource.Body) && a.Resource.Version == b.Resource.Version
}

// sameView compares Views whose rules differ in where they lie in memory.
func sameView(a, b *ir.View) bool {
	return reflect.DeepEqual(a.Clusters, b.Clusters) && slices.EqualFunc(a.Gateways, b.Gateways, func(a, b ir.GatewayView) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Ports, b.Ports, func(a, b ir.PortView) bool {
			return reflect.DeepEqual(a.Port, b.Port) && slices.EqualFunc(a.Hosts, b.Hosts, sameHostView)
		})
	})
}

func sameHostView(a, b ir.HostView) bool {
	left, right := slices.Collect(a.Rules), slices.Collect(b.Rules)
	return a.Chain == b.Chain && a.Domain == b.Domain && a.Len == b.Len && slices.Equal(a.Forged, b.Forged) && reflect.DeepEqual(left, right) &&
		slices.EqualFunc(left, right, func(l, r *ir.Rule) bool { return slices.Equal(attachedTo(a, l), attachedTo(b, r)) })
}

// tree makes a folder of files by name.
func tree(files map[string]string) watcher.Tree {
	out := map[string][]byte{}
	for name, text := range files {
		out[name] = []byte(text)
	}
	return cases.Tree(out)
}
