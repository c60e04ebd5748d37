package engine

import (
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// A text that cannot be parsed, and that stood there when everything else took effect, holds no edit: after a restart,
// too. One that came while gatefold was down does.
func TestOldTextsHoldNothingAfterARestart(t *testing.T) {
	const edited = oneGateway + `
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: zzz}, spec: {parentRefs: [{name: eg}], hostnames: [kept.test],
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: edited.test}}]}]}}`
	text := func(port string) string {
		return "\n---\n{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: p}, spec: {targetRefs: [{name: zzz}], port: " + port
	}
	key := manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "default", Name: "zzz"}
	for name, test := range map[string]struct {
		before, after string
		held          bool
	}{
		"an old text":     {ownRoute + text("1"), edited + text("1"), false},
		"no text":         {ownRoute + text("1"), edited, false},
		"a new text":      {ownRoute, edited + text("1"), true},
		"an edited text":  {ownRoute + text("1"), edited + text("2"), true},
		"a text that was": {ownRoute + text("1") + text("2"), edited + text("1") + text("3"), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p, end := runOnState(t, dir)
			p.reload(tree(ownRoute))
			p.reload(tree(test.before))
			end()
			for range 2 {
				p, end = runOnState(t, dir)
				p.expect()
				p.reload(tree(test.after))
				if _, held := p.reader.store.Held()[key]; held != test.held {
					t.Errorf("held: %t, want %t", held, test.held)
				}
				end()
			}
		})
	}
}
