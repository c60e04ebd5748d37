package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
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
	reader, err := newReader(t.Context(), Folder{Store: store.Options{Save: true, SaveSecrets: true}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := State{Dir: dir, Named: true, Secrets: true}.open("folder", reader, zerolog.Nop())
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

// Who has what one object alone wants is known after a restart, too: a rival that is written while gatefold is down does
// not take it. That does not depend on whether the saved state is translated before the folder is read (expect).
func TestSquattersOfAStopGetNothing(t *testing.T) {
	crt, key := envoytest.NewAuthority(t).Issue("kept.test")
	for name, test := range map[string]struct{ own, rival, thing, holder string }{
		// The saved state has no Secrets.
		"port of a Gateway with TLS": {
			fmt.Sprintf(tlsGateway, "zzz") + "\n---\n" + tlsSecret(t, crt, key), "\n---\n" + fmt.Sprintf(tlsGateway, "aaa"), "", "Gateway/default/zzz",
		},
		"host of an HTTPRoute": {ownRoute, rivalRoute, "kept.test", "HTTPRoute/default/zzz"},
		"port of a Gateway": {
			strings.Replace(oneGateway, "{name: eg}", "{name: zzz}", 1), "\n---\n" + strings.Replace(oneGateway, "{name: eg}", "{name: aaa}", 1),
			"", "Gateway/default/zzz",
		},
		"hostname of a ListenerSet": {ownSet, strings.ReplaceAll(strings.TrimPrefix(ownSet, setGateway), "zzz", "aaa"), "kept.test", "ListenerSet/default/zzz"},
		"port of a TCPRoute":        {ownTCP, strings.ReplaceAll(strings.TrimPrefix(ownTCP, tcpGateway), "zzz", "aaa"), "*", "TCPRoute/default/zzz"},
	} {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", early ", early), func(t *testing.T) {
				dir := t.TempDir()
				p, end := runOnState(t, dir)
				p.reload(tree(test.own))
				end()
				p, end = runOnState(t, dir)
				defer end()
				if early {
					p.expect()
				}
				p.reload(tree(test.own + test.rival))
				if got := p.has(test.thing); got != test.holder {
					t.Errorf("%q has %q, want %s: %v", got, test.thing, test.holder, p.translation.holders)
				}
			})
		}
	}
}

// jwtExtension is a GatewayExtension that writes the header x-user. namesJWT is a policy that names it.
const (
	jwtExtension = `
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: GatewayExtension, metadata: {name: idp}, spec: {jwt: {providers: [{name: p,
  claimsToHeaders: [{name: sub, header: X-User}], jwks: {local: {inline: none}}}]}}}`
	namesJWT = `
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: p}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: zzz}],
  jwtAuth: {extensionRef: {name: idp}}}}`
)

// The identity headers of a GatewayExtension that is removed are known after a restart, whether it was removed before
// gatefold ended or while it was down, as long as a policy names it.
func TestIdentityHeadersOfARemovedExtensionOutliveARestart(t *testing.T) {
	for _, while := range []string{"running", "down"} {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprint(while, ", early ", early), func(t *testing.T) {
				dir := t.TempDir()
				p, end := runOnState(t, dir)
				p.reload(tree(ownRoute + namesJWT + jwtExtension))
				if while == "running" {
					p.reload(tree(ownRoute + namesJWT))
				}
				end()
				for range 2 {
					p, end = runOnState(t, dir)
					if early {
						p.expect()
					}
					p.reload(tree(ownRoute + namesJWT))
					if got := p.has(""); got != "GatewayExtension/default/idp" {
						t.Errorf("%q holds the header: %v", got, p.translation.holders)
					}
					end()
				}
				p, end = runOnState(t, dir)
				defer end()
				p.reload(tree(ownRoute))
				if len(p.translation.holders) > 0 {
					t.Errorf("no policy names the extension: %v", p.translation.holders)
				}
			})
		}
	}
}

const setGateway = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg},
  spec: {gatewayClassName: gatefold, allowedListeners: {namespaces: {from: All}}, listeners: [{name: http, protocol: HTTP, port: 9090}]}}`

const ownSet = setGateway + `
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: zzz}, spec: {parentRef: {name: eg},
  listeners: [{name: http, protocol: HTTP, port: 8080, hostname: kept.test}]}}`

const tcpGateway = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg},
  spec: {gatewayClassName: gatefold, listeners: [{name: tcp, protocol: TCP, port: 8080}]}}`

const ownTCP = tcpGateway + `
---
{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: TCPRoute, metadata: {name: zzz}, spec: {parentRefs: [{name: eg}],
  rules: [{backendRefs: [{name: s, port: 80}]}]}}`

const tlsGateway = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: %s},
  spec: {gatewayClassName: gatefold, listeners: [{name: https, protocol: HTTPS, port: 8443, tls: {certificateRefs: [{name: web}]}}]}}`

// has returns the holder of the thing with a host, as kind, namespace and name.
func (p *pipeline) has(host string) string {
	for thing, holder := range p.translation.holders {
		if thing.Host == host {
			return holder.Kind + "/" + holder.Namespace + "/" + holder.Name
		}
	}
	return ""
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

// A newcomer does not take what serves by coming together with an object for which gatefold fails: what served before
// is known to the new translator.
func TestANewcomerBesideAMistakeTakesNothing(t *testing.T) {
	p, _, _ := newTestPipeline(t)
	withMistake(p, marked)
	p.reload(tree(ownRoute))
	p.reload(tree(ownRoute + rivalRoute + "\n" + object("HTTPRoute", "bad", true, routeTo("bad.test"))))
	if got := p.holderOf(t); got != "HTTPRoute" {
		t.Errorf("the other route has the host: %q", got)
	}
}

// A saved entry of holders that cannot be read is none, and no object is lost by it.
func TestBrokenHoldersAreNone(t *testing.T) {
	one := store.Saved{Key: manifest.Key{Kind: "Service", Name: "a"}, Path: "a.yaml"}
	broken := store.Saved{Key: holdersKey(), Path: "holders", Text: []byte("[{]")}
	if left, holders := splitMap[translate.Holders]([]store.Saved{broken, one}, holdersKey()); len(left) != 1 || left[0].Key != one.Key || len(holders) > 0 {
		t.Errorf("%v, %v", left, holders)
	}
}
