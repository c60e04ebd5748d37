package translate

import (
	"cmp"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/xds"
)

// An identity provider (oauth2) has two secrets, which Envoy gets by SDS. So a changed Secret changes no route.
// Routes and problems contain neither of the secrets.

// signInUse is a Gateway and a GatewayExtension that its users sign in with.
type signInUse struct {
	Gateway   string
	Extension manifest.Key
}

func (k signInUse) String() string { return k.Gateway + " " + k.Extension.String() }

// signInOut are the secrets of an identity provider for Envoy: the client secret, and the secret for cookies.
type signInOut struct {
	Client, Cookies xds.Resource
}

// client returns the client secret, nil for a nil signInOut.
func (o *signInOut) client() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Client
}

// cookies returns the secret for cookies, nil for a nil signInOut.
func (o *signInOut) cookies() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Cookies
}

func sameSignIn(a, b *signInOut) bool {
	return a == b || a != nil && b != nil && sameResource(a.Client, b.Client) && sameResource(a.Cookies, b.Cookies)
}

type signInIn struct {
	*credentialRules
	mount       *memo.Rule[manifest.Key, *mountOut]
	graft       *memo.Rule[flatKey, *graftOut]
	hostPolicy  *memo.Rule[listenerKey, *hostPolicy]
	extension   *memo.Rule[manifest.Key, *extensionOut]
	cluster     *memo.Rule[backend.Key, *clusterOut]
	extensions  *objects
	TrustedHops uint32
}

// signInRules build the secrets of identity providers, and warn of insecure sign-in.
type signInRules struct {
	in         signInIn
	secrets    *memo.Rule[manifest.Key, *signInOut]
	pushSignIn *memo.Rule[signInUse, *signInOut]
	clearText  *memo.Rule[signInUse, []manifest.Problem]
	insecure   *memo.Fold[manifest.Key, string, insecureUse, ordered.Set[insecureUse]]
}

func newSignInRules(e *memo.Engine, in signInIn) *signInRules {
	r := &signInRules{in: in}
	uses := memo.NewFold[signInUse, string](e, "signinuses", count[string], identical[int])
	memo.From(uses, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[signInUse, string], struct{})) {
		seen := map[signInUse]bool{}
		m.tables(func(table tableKey, flat *flatOut) {
			eachSignIn(table.Gateway, flat.SignIns, seen, "route "+key.String(), yield)
		})
	}, identical)
	memo.From(uses, in.graft, func(key flatKey, g *graftOut, yield func(memo.Place[signInUse, string], struct{})) {
		seen := map[signInUse]bool{}
		for _, table := range g.Tables {
			eachSignIn(table.Gateway, g.SignIns, seen, "node "+key.String(), yield)
		}
	}, identical)
	memo.From(uses, in.hostPolicy, func(key listenerKey, p *hostPolicy, yield func(memo.Place[signInUse, string], struct{})) {
		eachSignIn(key.Gateway, signInsOf(p.Extras), map[signInUse]bool{}, "listener "+key.Listener, yield)
	}, identical)
	r.secrets = memo.NewRule(e, "signin", r.runSecrets, sameSignIn)
	r.pushSignIn = memo.NewRule(e, "pushsignin", func(c *memo.Ctx, key signInUse) *signInOut {
		return r.secrets.Get(c, key.Extension)
	}, identical)
	memo.Each(r.pushSignIn, uses)
	r.clearText = memo.NewRule(e, "cleartext", r.runClearText, deepEqual)
	memo.Each(r.clearText, uses)
	r.insecure = memo.NewFold[manifest.Key, string](e, "insecure", gather[string](compareInsecure), ordered.Set[insecureUse].Same)
	if in.TrustedHops > 0 { // a trusted proxy may terminate TLS
		return r
	}
	memo.From(r.insecure, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[manifest.Key, string], insecureUse)) {
		seen := map[portKey]bool{}
		m.tables(func(table tableKey, flat *flatOut) {
			eachInsecure(insecureUse{table.portKey, key, "route"}, table, flat.SignIns, seen, yield)
		})
	}, identical)
	memo.From(r.insecure, in.graft, func(key flatKey, g *graftOut, yield func(memo.Place[manifest.Key, string], insecureUse)) {
		seen := map[portKey]bool{}
		for _, table := range g.Tables {
			eachInsecure(insecureUse{table.portKey, key.Route, "node " + key.String()}, table, g.SignIns, seen, yield)
		}
	}, identical)
	return r
}

func (r *signInRules) report(all *problemFold) {
	problemsFrom(all, "insecure", r.insecure, insecureProblems)
	problemsFrom(all, "cleartext", r.clearText, func(problems []manifest.Problem) []manifest.Problem { return problems })
}

// runClearText returns a warning for each backend of an identity provider to which Envoy sends the client secret
// without TLS. There is no warning if all endpoints of the backend have loopback addresses. The problem is not an
// error, because the network itself may encrypt.
func (r *signInRules) runClearText(c *memo.Ctx, use signInUse) (problems []manifest.Problem) {
	for _, key := range r.in.extension.Get(c, use.Extension).Backends {
		to := r.in.cluster.Get(c, *key)
		if to == nil || to.Source.TLS != nil || to.Source.Closed != "" || onLoopback(to.Source.Endpoints) {
			continue
		}
		problems = append(problems, manifest.Problem{
			Code: "ClientSecretInClearText", Severity: manifest.Warning, Object: use.Extension, Field: "spec.oauth2.backendRef",
			Message: fmt.Sprintf("Envoy sends the client's secret and the tokens of users to %s in clear text, whatever the scheme of tokenEndpoint: who reads the network can sign in as any user", key.Object),
			Hint:    "target " + key.Object.String() + " with a BackendTLSPolicy, and send to the port of https",
		})
	}
	return problems
}

// onLoopback reports whether all endpoints have loopback addresses. It is false if there are no endpoints.
func onLoopback(endpoints []ir.Endpoint) bool {
	return len(endpoints) > 0 && !slices.ContainsFunc(endpoints, func(e ir.Endpoint) bool {
		address, err := netip.ParseAddr(e.Host)
		return err != nil || !address.IsLoopback()
	})
}

// insecureUse is a port without TLS on which users sign in for a route.
type insecureUse struct {
	portKey
	Route manifest.Key
	// By is "route" if Route is served on the port as a root. If Route is served there as a child route, By is
	// "node " and the name of its node in the delegation tree (flatKey.String).
	By string
}

func compareInsecure(a, b insecureUse) int {
	return cmp.Or(comparePortKeys(a.portKey, b.portKey), strings.Compare(a.By, b.By))
}

// eachInsecure yields the parameter use, and adds the port of the virtual host (the parameter table) to seen, if all
// of these conditions hold:
//   - The virtual host has no TLS.
//   - Users sign in there: signIns has the GatewayExtensions with which they sign in, and is not empty.
//   - The port is not in seen. So each port is yielded only once.
func eachInsecure(use insecureUse, table tableKey, signIns []manifest.Key, seen map[portKey]bool, yield func(memo.Place[manifest.Key, string], insecureUse)) {
	if table.Chain != "" || len(signIns) == 0 || seen[table.portKey] {
		return
	}
	seen[table.portKey] = true
	yield(memo.Place[manifest.Key, string]{Key: use.Route, ID: use.By + " " + table.portKey.String()}, use)
}

// insecureProblems returns one warning for each port in uses.
func insecureProblems(uses ordered.Set[insecureUse]) (problems []manifest.Problem) {
	var last portKey
	for use := range uses.All() {
		if use.portKey != last {
			problems = append(problems, insecureSignIn(use.Route, "spec.parentRefs", use.portKey))
		}
		last = use.portKey
	}
	return problems
}

// eachSignIn yields one signInUse for each of the extensions: the extension, and the Gateway ("namespace/name") whose
// users sign in with it. A signInUse that is already in seen is skipped; every yielded one is added to seen. The
// parameter member becomes the ID in each yielded memo.Place. It names what uses the extensions: a route, a node of a
// delegation tree (see flatKey) or a listener.
func eachSignIn(gateway string, extensions []manifest.Key, seen map[signInUse]bool, member string, yield func(memo.Place[signInUse, string], struct{})) {
	for _, extension := range extensions {
		if use := (signInUse{gateway, extension}); !seen[use] {
			seen[use] = true
			yield(memo.Place[signInUse, string]{Key: use, ID: member}, struct{}{})
		}
	}
}

// signInsOf returns the key of the GatewayExtension in extras.OAuth2, with which users sign in, as a list of one key.
// It returns nil if there is no such extension.
func signInsOf(extras *ir.Extras) []manifest.Key {
	if extras == nil || extras.OAuth2 == nil {
		return nil
	}
	return []manifest.Key{extras.OAuth2.Key}
}

// runSecrets returns the secrets of the identity provider of an extension (key). The result is nil if the extension
// has no identity provider, or if the client secret is missing or cannot be used. The routes that refer to the
// extension then need no secrets: they are computed again in the same memo.Engine.Flush, and answer an error.
func (r *signInRules) runSecrets(c *memo.Ctx, key manifest.Key) *signInOut {
	object, _ := r.in.extensions.Get(c, key)
	from, ok := manifest.As[*api.GatewayExtension](object)
	if !ok || from.Spec.OAuth2 == nil {
		return nil
	}
	secret, missing := r.in.secret(c, policy.ClientSecret(key, from.Spec.OAuth2))
	if missing != nil {
		return nil
	}
	client, fault := policy.ReadClientSecret(secret.Data)
	if fault != nil {
		return nil
	}
	names := &ir.SignIn{Extension: key}
	return &signInOut{
		Client:  xds.TextSecret(names.ClientSecretName(), client),
		Cookies: xds.TextSecret(names.CookieSecretName(), cookieSecret(key, policy.CookieSecret(secret.Data, client))),
	}
}

// cookieSecret returns the secret that signs and encrypts the cookies of an extension. It is derived from the
// parameter secret, so that it is the same after a restart and on each replica. It differs between extensions.
func cookieSecret(extension manifest.Key, secret ir.Hidden) ir.Hidden {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "gatefold oauth2 cookies of "+extension.Namespace+"/"+extension.Name, sha256.Size)
	if err != nil {
		panic("translate: no key of 32 bytes: " + err.Error())
	}
	return ir.Hidden(hex.EncodeToString(key))
}

// missingClientSecret returns an error if a GatewayExtension is an identity provider (OAuth2) and its client secret
// is missing or cannot be used. Otherwise it returns nil.
func (r *credentialRules) missingClientSecret(c *memo.Ctx, key manifest.Key, from *api.GatewayExtensionSpec) []manifest.Problem {
	if from.OAuth2 == nil {
		return nil
	}
	of := policy.ClientSecret(key, from.OAuth2)
	secret, missing := r.secret(c, of)
	if missing == nil {
		_, fault := policy.ReadClientSecret(secret.Data)
		if fault == nil {
			return nil
		}
		missing = notUsable(of.String()+": "+fault.Message, fault.Hint)
	}
	problem := *missing.Problem
	problem.Severity, problem.Field = manifest.Error, "spec.oauth2.credentials.clientSecretRef"
	return []manifest.Problem{problem}
}
