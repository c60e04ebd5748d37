package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// recorder is a publisher that keeps what it is told, and panics when asked to.
type recorder struct {
	published []translate.Result
	reloads   []server.Reload
	panics    bool
	panicsAt  string // a host that must not redirect
}

func (r *recorder) Publish(result translate.Result) {
	if r.panics || r.panicsAt != "" && answersOf(result)[r.panicsAt] == "redirect" {
		panic("out of luck")
	}
	r.published = append(r.published, result)
}

func (r *recorder) Reloaded(reload server.Reload) { r.reloads = append(r.reloads, reload) }

func newTestPipeline(t *testing.T) (*pipeline, *recorder, *bytes.Buffer) {
	t.Helper()
	return newTestPipelineOf(t, Folder{})
}

// newTestPipelineOf is newTestPipeline with the settings of a folder.
func newTestPipelineOf(t *testing.T, of Folder) (*pipeline, *recorder, *bytes.Buffer) {
	t.Helper()
	folder, err := newReader(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r := &recorder{}
	p := newPipeline(t.Context(), folder, zerolog.New(&log))
	p.server, p.observers = r, []observer{&runLog{log: p.log}, reports{r}}
	return p, r, &log
}

// tree makes a Tree of one file.
func tree(content string) watcher.Tree {
	sum := sha256.Sum256([]byte(content))
	return watcher.Tree{
		Root: "folder", Noticed: time.Now(),
		Files: watcher.FilesOf(watcher.File{Path: "a.yaml", Content: []byte(content), Hash: sum}),
	}
}

const oneGateway = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg},
  spec: {gatewayClassName: gatefold, listeners: [{name: http, protocol: HTTP, port: 8080}]}}`

// invalidRoute is a document more, which its schema rejects.
const invalidRoute = `
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {oops: 1, parentRefs: [{name: eg}]}}`

// outcome is the result of the last reload.
func (r *recorder) outcome() string { return r.reloads[len(r.reloads)-1].Result }

func TestMistakeOfOursLeavesWhatServes(t *testing.T) {
	p, r, log := newTestPipeline(t)
	p.reload(tree(oneGateway))
	if r.outcome() != "ok" || len(r.published) != 1 || len(r.published[0].Delta) == 0 {
		t.Fatalf("first reload: %+v, %+v", r.reloads, r.published)
	}

	r.panics = true
	p.reload(tree(strings.Replace(oneGateway, "8080", "8081", 1) + invalidRoute))
	if r.outcome() != "failed" || r.reloads[1].OK {
		t.Errorf("after a panic: %+v, want failed", r.reloads[1])
	}
	for _, want := range []string{`"step":"publish"`, `"panic":"out of luck"`, "pipeline_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not tell %s: %s", want, log)
		}
	}

	r.panics = false
	p.reload(tree(strings.Replace(oneGateway, "8080", "8082", 1) + invalidRoute))
	if r.outcome() != "problems" || len(r.published) != 2 {
		t.Fatalf("reload after a panic: %+v", r.reloads[2])
	}
	if last := r.published[1].Status; len(last) != 2 || last[1].Key.Kind != "HTTPRoute" || last[1].Status == nil {
		t.Errorf("the status of what came with the lost change: %+v", last)
	}
	// What the lost change removed is removed now.
	var got []string
	for _, u := range r.published[1].Delta {
		got = append(got, fmt.Sprintf("%s %t", u.Name, u.Resource != nil))
	}
	want := []string{
		"gatefold/jwt true", "default/eg/http-8080 false", "default/eg/http-8082 true",
		"default/eg/http-8080/filters-2 false", "default/eg/http-8082/filters-2 true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("published after a panic: %q, want %q", got, want)
	}
}

// TestTheLostChangeTookAStatus removes a route with a Change that is lost: the one after
// removes its status, and brings all others.
func TestTheLostChangeTookAStatus(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	p.reload(tree(oneGateway + strings.Replace(invalidRoute, "oops: 1, ", "", 1)))
	r.panics = true
	p.reload(tree(oneGateway))
	r.panics = false
	p.reload(tree(oneGateway + "\n"))
	var got []string
	for _, u := range r.published[1].Status {
		got = append(got, fmt.Sprint(u.Key, u.Status != nil))
	}
	if want := []string{"Gateway default/eg true", "HTTPRoute default/r false"}; !slices.Equal(got, want) {
		t.Errorf("statuses after a panic: %q, want %q", got, want)
	}
}

func TestEmptiedFolderIsHeldWithAnAlarm(t *testing.T) {
	p, r, log := newTestPipeline(t)
	p.reload(tree(oneGateway))
	log.Reset()
	p.reload(watcher.Tree{Root: "folder", Missing: true, Noticed: time.Now()})
	if r.outcome() != "frozen" || r.reloads[1].Hold == "" || r.reloads[1].OK {
		t.Errorf("emptied folder: %+v, want held", r.reloads[1])
	}
	if !strings.Contains(log.String(), "ALARM") || !strings.Contains(log.String(), "FolderMissing") {
		t.Errorf("no alarm in the log: %s", log)
	}
	for _, result := range r.published[1:] {
		if len(result.Delta)+len(result.Status) > 0 {
			t.Errorf("a held folder changes what serves: %+v", result)
		}
	}
	p.reload(tree(oneGateway))
	if r.outcome() != "ok" {
		t.Errorf("after the return of the folder: %+v", r.reloads[2])
	}
}

func TestMissingFolderIsWaitedFor(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	p.reload(watcher.Tree{Root: "folder", Missing: true, Noticed: time.Now()})
	if r.outcome() != "waiting" || r.reloads[0].OK || len(r.published) > 0 {
		t.Errorf("missing folder: %+v, published %d times; want waiting and nothing", r.reloads, len(r.published))
	}
	p.reload(watcher.Tree{Root: "folder", Noticed: time.Now()})
	if r.outcome() != "ok" || len(r.published) != 1 {
		t.Errorf("empty folder: %+v, published %d times; want an empty snapshot", r.reloads, len(r.published))
	}
}

func TestProblemsAreLoggedOnceAndMendedOnce(t *testing.T) {
	p, r, log := newTestPipeline(t)
	broken := strings.Replace(oneGateway, "protocol", "protocl", 1)
	for _, step := range []struct {
		content, outcome string
		appeared, mended int
	}{
		{broken, "problems", 1, 0},
		{"# one line further down\n" + broken, "problems", 0, 0},
		{oneGateway, "ok", 0, 1},
		{oneGateway + "\n", "ok", 0, 0},
	} {
		log.Reset()
		p.reload(tree(step.content))
		appeared := strings.Count(log.String(), `"code":"UnknownField"`) - strings.Count(log.String(), `"message":"fixed: unknown field`)
		mended := strings.Count(log.String(), `"message":"fixed: unknown field`)
		if r.outcome() != step.outcome || appeared != step.appeared || mended != step.mended {
			t.Errorf("%s, %d appeared, %d mended; want %s, %d, %d\n%s", r.outcome(), appeared, mended,
				step.outcome, step.appeared, step.mended, log)
		}
	}
}

// Places may be asked for while Trees come in; the race detector watches.
func TestPlacesWhileReloading(t *testing.T) {
	p, _, _ := newTestPipeline(t)
	p.reload(tree(oneGateway))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20 {
			p.reload(tree(strings.Repeat("\n", i+1) + oneGateway))
		}
	}()
	asked := questions{pipeline: p}
	field := manifest.Field{Object: manifest.Key{Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "default", Name: "eg"}}
	for reloading := true; reloading; {
		select {
		case <-done:
			reloading = false
		default:
		}
		if at := asked.Places([]manifest.Field{field}); at[0].File != "a.yaml" || at[0].Line < 1 {
			t.Fatalf("got %+v", at)
		}
	}
	if at := asked.Places([]manifest.Field{field}); at[0].Line != 21 {
		t.Errorf("after the last reload: line %d, want 21", at[0].Line)
	}
}

// A reload that a user waits for is told what was set and removed meanwhile.
func TestAReloadIsToldWhatChanged(t *testing.T) {
	p, _, _ := newTestPipeline(t)
	p.reload(tree(oneGateway))
	changes := new(admin.Changes)
	p.asked = append(p.asked, changes)
	p.reload(tree(strings.Replace(oneGateway, "name: eg", "name: other", 1)))
	if changes.SetCount != 1 || changes.RemovedCount != 1 || changes.Set[0].Name != "other" || changes.Removed[0].Name != "eg" {
		t.Errorf("got %+v", changes)
	}
}

// The line of a reload names what changed, the first objects of it; a look that finds
// nothing is for debugging, unless a user asked for it.
func TestTheLineOfAReloadNamesWhatChanged(t *testing.T) {
	p, _, log := newTestPipeline(t)
	text := oneGateway
	for i := range 6 {
		text += strings.Replace(strings.Replace(invalidRoute, "oops: 1, ", "", 1), "name: r}", fmt.Sprintf("name: r%d}", i), 1)
	}
	p.reload(tree(text))
	want := `"set":"Gateway default/eg, HTTPRoute default/r0, HTTPRoute default/r1, HTTPRoute default/r2, HTTPRoute default/r3 and 2 more"`
	if !strings.Contains(log.String(), want) {
		t.Errorf("the log has no %s:\n%s", want, log)
	}
	log.Reset()
	p.reload(tree(text))
	p.asked = []*admin.Changes{new(admin.Changes)}
	p.reload(tree(text))
	if got := strings.Count(log.String(), `"level":"info"`); got != 1 || strings.Count(log.String(), `"level":"debug"`) != 1 {
		t.Errorf("%d lines of level info, want one, and one of debug:\n%s", got, log)
	}
	log.Reset()
	p.reload(tree(oneGateway))
	if !strings.Contains(log.String(), `"removed":"HTTPRoute default/r0, `) {
		t.Errorf("the log does not name what was removed:\n%s", log)
	}
}
