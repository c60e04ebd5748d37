package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// secretUse is a Gateway and a Secret that its Envoys need.
type secretUse struct {
	Gateway string
	Secret  manifest.Key
}

func (k secretUse) String() string { return k.Gateway + " " + k.Secret.String() }

// secretOut is a certificate for Envoy, with the details that may be shown.
type secretOut struct {
	Resource    xds.Resource
	Certificate ir.Certificate
}

// resource returns the Resource, nil for a nil secretOut.
func (o *secretOut) resource() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Resource
}

func sameSecret(a, b *secretOut) bool {
	return a == b || a != nil && b != nil && sameResource(a.Resource, b.Resource)
}

func compareSecrets(a, b *secretOut) int {
	return manifest.CompareKeys(a.Certificate.Secret, b.Certificate.Secret)
}

type secretIn struct {
	gateway *memo.Rule[manifest.Key, *listen.Gateway]
	push    *memo.Rule[useKey, *clusterOut]
	secrets *objects
}

// secretRules build the certificates and keys that Envoys present.
type secretRules struct {
	in         secretIn
	secretUses *memo.Fold[secretUse, string, struct{}, int]
	secret     *memo.Rule[manifest.Key, *secretOut]
	pushSecret *memo.Rule[secretUse, *secretOut]
	allSecrets *memo.Fold[struct{}, manifest.Key, *secretOut, ordered.Set[*secretOut]]
}

func newSecretRules(e *memo.Engine, in secretIn) *secretRules {
	r := &secretRules{in: in}
	r.secretUses = memo.NewFold[secretUse, string](e, "secretuses", count[string], identical[int])
	memo.From(r.secretUses, in.gateway, secretsOf, identical)
	memo.From(r.secretUses, in.push, func(key useKey, c *clusterOut, yield func(memo.Place[secretUse, string], struct{})) {
		if c != nil && c.Source.TLS != nil && c.Source.TLS.Client.Name != "" {
			yield(memo.Place[secretUse, string]{Key: secretUse{key.Gateway, c.Source.TLS.Client}, ID: "cluster " + key.Backend.Cluster()}, struct{}{})
		}
	}, identical)
	r.secret = memo.NewRule(e, "secret", r.runSecret, sameSecret)
	r.pushSecret = memo.NewRule(e, "pushsecret", func(c *memo.Ctx, key secretUse) *secretOut {
		return r.secret.Get(c, key.Secret)
	}, identical)
	memo.Each(r.pushSecret, r.secretUses)
	r.allSecrets = memo.NewFold[struct{}, manifest.Key, *secretOut](e, "allsecrets", gather[manifest.Key](compareSecrets), ordered.Set[*secretOut].Same)
	memo.From(r.allSecrets, r.secret, func(key manifest.Key, s *secretOut, yield func(memo.Place[struct{}, manifest.Key], *secretOut)) {
		if s != nil {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, s)
		}
	}, identical)
	return r
}

// secretsOf yields the Secrets with the certificates of the listeners that serve. The client certificates that
// a Gateway presents to backends are not among them.
func secretsOf(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[secretUse, string], struct{})) {
	if g == nil {
		return
	}
	for _, l := range g.Listeners {
		if !l.Serves() {
			continue
		}
		for _, secret := range l.Certificates {
			yield(memo.Place[secretUse, string]{Key: secretUse{g.Name, secret}, ID: l.ID()}, struct{}{})
		}
	}
}

// runSecret returns the certificate and key of a Secret. It returns nil if the Secret does not exist, or if its
// certificate or key cannot be read. The store already rejects a Secret of type kubernetes.io/tls whose certificate
// or key cannot be read. Listeners that refer to a removed Secret are computed again in the same memo.Engine.Flush.
func (r *secretRules) runSecret(c *memo.Ctx, key manifest.Key) *secretOut {
	object, _ := r.in.secrets.Get(c, key)
	secret, ok := manifest.As[*corev1.Secret](object)
	if !ok {
		return nil
	}
	pair, fault := keypair.Read(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if fault != nil {
		return nil
	}
	return &secretOut{
		Resource: xds.Secret(ir.SecretName(key), pair),
		Certificate: ir.Certificate{
			Secret: key, Sum: pair.Sum(), Names: pair.Names(), NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		},
	}
}
