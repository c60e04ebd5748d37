package engine

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// ownRoute is a folder with an HTTPRoute for kept.test. rivalRoute is one more document: a GRPCRoute for the same host.
const ownRoute = oneGateway + `
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: zzz}, spec: {parentRefs: [{name: eg}], hostnames: [kept.test],
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: own.test}}]}]}}`

const rivalRoute = `
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: aaa}, spec: {parentRefs: [{name: eg}], hostnames: [kept.test]}}`

// runOnState makes a pipeline on a state folder. end ends it, when what it published is saved.
func runOnState(t *testing.T, dir string) (p *pipeline, end func()) {
	t.Helper()
	reader, err := newReader(t.Context(), Folder{Store: store.Options{Save: true}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := State{Dir: dir, Named: true}.open("folder", reader, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	p = newPipeline(t.Context(), reader, zerolog.Nop())
	p.server, p.state, p.observers = &recorder{}, kept, []observer{kept}
	kept.begin(p, server.New(server.Options{}, zerolog.Nop()))
	return p, kept.close
}

// holderOf returns the kind of the route that has the host kept.test.
func (p *pipeline) holderOf(t *testing.T) (kind string) {
	t.Helper()
	for thing, holder := range p.translation.holders {
		if thing.Host == "kept.test" {
			kind = holder.Kind
		}
	}
	return kind
}

// Who has what several objects want is in the saved state: after a restart, the first by name does not take it.
func TestHoldersOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	p, end := runOnState(t, dir)
	p.reload(tree(ownRoute))
	p.reload(tree(ownRoute + rivalRoute))
	if got := p.holderOf(t); got != "HTTPRoute" {
		t.Fatalf("the newcomer has the host: %s", got)
	}
	end()
	for range 2 {
		p, end = runOnState(t, dir)
		if len(p.state.saved) != 3 {
			t.Errorf("%d objects are restored, want 3: %v", len(p.state.saved), p.state.saved)
		}
		p.expect()
		p.reload(tree(ownRoute + rivalRoute))
		if got := p.holderOf(t); got != "HTTPRoute" {
			t.Errorf("after a restart, the other route has the host: %s", got)
		}
		end()
	}
	p, end = runOnState(t, t.TempDir())
	defer end()
	p.reload(tree(ownRoute + rivalRoute))
	if got := p.holderOf(t); got != "GRPCRoute" {
		t.Errorf("a cold start without state goes by name: %s", got)
	}
}

// A new translator after a mistake is told who had what.
func TestHoldersOutliveANewTranslator(t *testing.T) {
	p, _, _ := newTestPipeline(t)
	p.reload(tree(ownRoute))
	p.reload(tree(ownRoute + rivalRoute))
	p.translation.phase = ahead // as after a panic
	p.reload(tree(ownRoute + rivalRoute + "\n"))
	if got := p.holderOf(t); got != "HTTPRoute" {
		t.Errorf("the other route has the host: %q", got)
	}
}

// A saved entry of holders that cannot be read is none, and no object is lost by it.
func TestBrokenHoldersAreNone(t *testing.T) {
	one := store.Saved{Key: manifest.Key{Kind: "Service", Name: "a"}, Path: "a.yaml"}
	broken := store.Saved{Key: holdersKey(), Path: "holders", Text: []byte("[{]")}
	if left, holders := splitHolders([]store.Saved{broken, one}); len(left) != 1 || left[0].Key != one.Key || len(holders) > 0 {
		t.Errorf("%v, %v", left, holders)
	}
}
