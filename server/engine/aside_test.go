package engine

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/journal"
	"github.com/gatefold/gatefold/store/manifest"
)

// A state that cannot be applied stops no start: it is set aside, and what its texts say goes
// on. Here the object that was checked has no path where every other has one.
func TestAStateThatCannotBeAppliedIsSetAside(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	options := journal.Options{Dir: filepath.Join(dir, "state"), Root: folder, Fingerprint: fingerprint()}
	route := object("HTTPRoute", "kept", false, "parentRefs: [{name: eg}], hostnames: [kept.test], rules: [{matches: [{path: {type: PathPrefix, value: /}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: elsewhere.test}}]}]")
	write := func(text string) {
		before, err := newReader(t.Context(), Folder{Store: store.Options{Save: true}})
		if err != nil {
			t.Fatal(err)
		}
		before.store.Apply(tree(text))
		saved := before.store.Unsaved()
		for i := range saved {
			checked, err := json.Marshal(saved[i].Checked)
			if err != nil {
				t.Fatal(err)
			}
			bad := bytes.Replace(checked, []byte(`"path":{"type":"PathPrefix","value":"/"}`), []byte(`"path":null`), 1)
			saved[i].Checked = new(store.Checked)
			if err := saved[i].Checked.UnmarshalJSON(bad); err != nil {
				t.Fatal(err)
			}
		}
		j, _, err := journal.Open(options)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Write(saved, func() []store.Saved { return saved }); err != nil {
			t.Fatal(err)
		}
		j.Close()
	}
	for range 5 {
		write(oneGateway + "\n" + route)
		var log bytes.Buffer
		reader, err := newReader(t.Context(), Folder{Store: store.Options{Save: true}})
		if err != nil {
			t.Fatal(err)
		}
		o := State{Dir: options.Dir, Named: true}
		kept, err := o.open(folder, reader, zerolog.New(&log))
		if err != nil {
			t.Fatal(err)
		}
		p, r := newPipeline(t.Context(), reader, zerolog.New(&log)), &recorder{}
		p.server, p.state, p.observers = r, kept, []observer{kept, reports{r}}
		withMistake(p, func(o *manifest.Object) bool {
			route, ok := o.Value.(*api.HTTPRoute)
			return ok && route.Spec.Rules[0].Matches[0].Path == nil
		})
		kept.begin(p, server.New(server.Options{}, zerolog.Nop()))
		p.expect()
		// The file of the route is broken now: the state's text of it serves.
		p.reload(tree(oneGateway + "\n" + strings.Replace(route, "spec:", "spec: oops", 1)))
		if r.outcome() != "problems" || answers(r)["kept.test"] != "redirect" {
			t.Errorf("%s, %v\n%s", r.outcome(), answers(r), &log)
		}
		if !strings.Contains(log.String(), "journal.unusable-") || !kept.damaged {
			t.Errorf("the log does not name the state that was set aside: %s", &log)
		}
		kept.close()
	}
	if aside, _ := filepath.Glob(filepath.Join(options.Dir, "journal.unusable-*")); len(aside) != 3 {
		t.Errorf("%d are kept, want the newest 3: %v", len(aside), aside)
	}
	if _, err := os.Stat(filepath.Join(options.Dir, "journal")); err != nil {
		t.Error(err)
	}
}
