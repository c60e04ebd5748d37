package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// newRestoredPipeline makes a pipeline that goes on from what served of before.
func newRestoredPipeline(t *testing.T, before watcher.Tree) (*pipeline, *recorder) {
	t.Helper()
	folder, err := newReader(t.Context(), Folder{Store: store.Options{Save: true}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := newReader(t.Context(), Folder{Store: store.Options{Save: true}})
	if err != nil {
		t.Fatal(err)
	}
	other.store.Apply(before)
	if unusable := folder.store.Restore(other.store.Unsaved(), true); len(unusable) > 0 {
		t.Fatal(unusable)
	}
	p, r := newPipeline(t.Context(), folder, zerolog.Nop()), &recorder{}
	p.server, p.observers = r, []observer{reports{r}}
	return p, r
}

// told is what a Result says, in words.
func told(result translate.Result) string {
	var b strings.Builder
	for _, u := range result.Delta {
		fmt.Fprint(&b, u.Name)
		if u.Resource != nil {
			fmt.Fprint(&b, " ", u.Resource.Version)
		}
		fmt.Fprintln(&b)
	}
	for _, u := range result.Status {
		fmt.Fprintln(&b, u.Key, u.Status != nil)
	}
	return b.String()
}

// What a state gave is translated while the folder is read. The first publication is the
// same as without that, whatever the folder says, and nothing is published before.
func TestExpectedIsPublishedWithTheFolder(t *testing.T) {
	const route = `
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: [{name: eg}]}}`
	before := tree(oneGateway + route)
	for name, now := range map[string]watcher.Tree{
		"unchanged":  before,
		"another":    tree(strings.Replace(oneGateway, "8080", "8081", 1) + route),
		"route gone": tree(oneGateway),
		"broken":     tree(oneGateway + invalidRoute),
		"missing":    {Root: "folder", Missing: true, Noticed: time.Now()},
	} {
		t.Run(name, func(t *testing.T) {
			p, got := newRestoredPipeline(t, before)
			if p.expect(); len(got.published)+len(got.reloads) > 0 {
				t.Fatalf("published before the folder was read: %+v", got.published)
			}
			again, want := newRestoredPipeline(t, before)
			p.reload(now)
			again.reload(now)
			if len(got.published) != 1 || len(want.published) != 1 || told(want.published[0]) == "" || got.outcome() != want.outcome() {
				t.Fatalf("published %d and %d times, %s and %s", len(got.published), len(want.published), got.outcome(), want.outcome())
			}
			if a, b := told(got.published[0]), told(want.published[0]); a != b {
				t.Errorf("published\n%s\nwithout expecting\n%s", a, b)
			}
		})
	}
}

// A mistake of ours while a state is translated costs what was expected, and no more.
func TestMistakeWhileExpecting(t *testing.T) {
	p, r := newRestoredPipeline(t, tree(oneGateway))
	sound := p.translation.translator
	p.translation.translator = nil // which panics
	p.expect()
	p.translation.translator = sound
	if p.reload(tree(oneGateway)); r.outcome() != "ok" || len(r.published) != 1 || len(r.published[0].Delta) == 0 {
		t.Errorf("after a panic: %+v", r.reloads)
	}
	if p.translation.translator == sound {
		t.Error("what was left half-done goes on")
	}
}
