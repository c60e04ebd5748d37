package translate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
)

// The rules of this file decide whether listeners and policies may use a Secret or ConfigMap, and whether the
// object can be used. The content of the object goes to Envoy through other rules (rules_secret.go,
// rules_trust.go). So a certificate can be replaced without a change of the listener.

type certificateIn struct {
	*hintRules
	grants     *objects
	grantIndex *memo.Index[string, manifest.Key]
	secrets    *objects
	configMaps *objects
	assumed    bool // Assumptions.Certificates
}

// certificateRules follow references to certificates and to CA certificates.
type certificateRules struct {
	in          certificateIn
	grants      *memo.Rule[string, *backend.Grants]
	certificate *memo.Rule[backend.Reference, listen.Certificate]
	authority   *memo.Rule[backend.Reference, listen.Authority]
	certNames   *memo.Rule[manifest.Key, []string]
}

func newCertificateRules(e *memo.Engine, in certificateIn) *certificateRules {
	r := &certificateRules{in: in}
	r.grants = memo.NewRule(e, "grants", r.runGrants, (*backend.Grants).Same)
	r.certificate = memo.NewRule(e, "certificate", r.runCertificate, identical)
	r.authority = memo.NewRule(e, "authority", r.runAuthority, identical)
	r.certNames = memo.NewRule(e, "certnames", r.runCertNames, slices.Equal[[]string])
	return r
}

// runGrants returns the ReferenceGrants of a namespace in a form for fast lookup.
func (r *certificateRules) runGrants(c *memo.Ctx, namespace string) *backend.Grants {
	var out []*gwv1.ReferenceGrant
	for _, key := range r.in.grantIndex.Get(c, namespace) {
		object, _ := r.in.grants.Get(c, key)
		if grant, ok := manifest.As[*gwv1.ReferenceGrant](object); ok {
			out = append(out, grant)
		}
	}
	return backend.ReadGrants(out)
}

// refer returns the reference of a Gateway or ListenerSet to a Secret, with default values (Gateway API,
// SecretObjectReference).
func refer(from manifest.Key, ref gwv1.SecretObjectReference) backend.Reference {
	object := gwv1.BackendObjectReference{Group: ref.Group, Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace}
	if kind := gwv1.Kind("Secret"); object.Kind == nil {
		object.Kind = &kind
	}
	return backend.Refer(from, object)
}

// referAuthority returns the reference ref as a backend.Reference. It refers to an object that contains CA
// certificates. The parameter from is the object that contains ref. If ref has no namespace, the namespace is that of
// the parameter from.
func referAuthority(from manifest.Key, ref gwv1.ObjectReference) backend.Reference {
	return backend.Refer(from, gwv1.BackendObjectReference{Group: &ref.Group, Kind: &ref.Kind, Name: ref.Name, Namespace: ref.Namespace})
}

// runCertificate returns whether a listener or Gateway may use a Secret as certificate. It does not read the
// certificate itself. It checks the ReferenceGrant before it reads the Secret, so that the message for a missing
// grant does not reveal whether the Secret exists.
func (r *certificateRules) runCertificate(c *memo.Ctx, ref backend.Reference) listen.Certificate {
	refuse := func(reason gwv1.ListenerConditionReason, message, hint string) listen.Certificate {
		return listen.Certificate{Usable: manifest.Verdict[gwv1.ListenerConditionReason]{Reason: reason, Message: message}, Hint: hint}
	}
	if ref.To.Group != "" || ref.To.Kind != "Secret" {
		return refuse(gwv1.ListenerReasonInvalidCertificateRef,
			fmt.Sprintf("kind %s of group %q holds no certificate", ref.To.Kind, ref.To.Group), "refer to a Secret of type kubernetes.io/tls")
	}
	if ref.To.Namespace != ref.From.Namespace && !r.grants.Get(c, ref.To.Namespace).Permit(ref) {
		why := ref.NotGranted()
		return refuse(gwv1.ListenerReasonRefNotPermitted, why.Message, why.Hint)
	}
	object, _ := r.in.secrets.Get(c, ref.To)
	secret, ok := manifest.As[*corev1.Secret](object)
	switch {
	case !ok && r.in.assumed:
		return listen.Certificate{Secret: ref.To}
	case !ok:
		return refuse(gwv1.ListenerReasonInvalidCertificateRef, ref.To.String()+" does not exist, or cannot be read", r.in.absentHint(c, ref.To, wordReference))
	case secret.Type != corev1.SecretTypeTLS:
		return refuse(gwv1.ListenerReasonInvalidCertificateRef,
			fmt.Sprintf("%s is of type %s, not kubernetes.io/tls", ref.To, secret.Type), "write type: kubernetes.io/tls, with tls.crt and tls.key")
	}
	return listen.Certificate{Secret: ref.To}
}

// runAuthority returns whether an object may and can be used for CA certificates. It checks the ReferenceGrant
// before it reads the object, so that the message for a missing grant does not reveal whether the object exists.
func (r *certificateRules) runAuthority(c *memo.Ctx, ref backend.Reference) listen.Authority {
	refuse := func(reason gwv1.ListenerConditionReason, message, hint string) listen.Authority {
		return listen.Authority{Usable: manifest.Verdict[gwv1.ListenerConditionReason]{Reason: reason, Message: message}, Hint: hint}
	}
	if ref.To.Group != "" || ref.To.Kind != "ConfigMap" && ref.To.Kind != "Secret" {
		return refuse(gwv1.ListenerReasonInvalidCACertificateKind,
			fmt.Sprintf("kind %s of group %q holds no CA certificates", ref.To.Kind, ref.To.Group),
			"refer to a ConfigMap or Secret with ca.crt")
	}
	if ref.To.Namespace != ref.From.Namespace && !r.grants.Get(c, ref.To.Namespace).Permit(ref) {
		why := ref.NotGranted()
		return refuse(gwv1.ListenerReasonRefNotPermitted, why.Message, why.Hint)
	}
	text, ok := r.authorityText(c, ref.To)
	if !ok && r.in.assumed {
		return listen.Authority{Object: ref.To}
	}
	if !ok {
		return refuse(gwv1.ListenerReasonInvalidCACertificateRef, ref.To.String()+" does not exist, or cannot be read", r.in.absentHint(c, ref.To, wordReference))
	}
	if _, fault := keypair.ReadBundle(text); fault != nil {
		return refuse(gwv1.ListenerReasonInvalidCACertificateRef, fmt.Sprintf("%s has no certificate in ca.crt", ref.To),
			"write the CA certificates into ca.crt, in PEM")
	}
	return listen.Authority{Object: ref.To}
}

// authorityText returns the entry ca.crt of a Secret or ConfigMap. Without this entry, the text is empty and ok is
// true. If the object does not exist, ok is false.
func (r *certificateRules) authorityText(c *memo.Ctx, key manifest.Key) (text []byte, ok bool) {
	if key.Kind == "Secret" {
		object, _ := r.in.secrets.Get(c, key)
		secret, ok := manifest.As[*corev1.Secret](object)
		if !ok {
			return nil, false
		}
		return secret.Data[string(keypair.Authorities)], true
	}
	object, _ := r.in.configMaps.Get(c, key)
	from, ok := manifest.As[*corev1.ConfigMap](object)
	if !ok {
		return nil, false
	}
	return []byte(from.Data[string(keypair.Authorities)]), true
}

// runCertNames returns the hosts that the certificate of a Secret is for, nil if the certificate cannot be read. It
// does not read the private key.
func (r *certificateRules) runCertNames(c *memo.Ctx, key manifest.Key) []string {
	object, _ := r.in.secrets.Get(c, key)
	secret, ok := manifest.As[*corev1.Secret](object)
	if !ok {
		return nil
	}
	if pair := keypair.Leaf(secret.Data[corev1.TLSCertKey]); pair != nil {
		return pair.Names()
	}
	return nil
}
