package engine

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// guards marks the stale objects whose edits may take away access (store.Stale.Protects). It keeps its list, so that a
// list that did not change stays the same slice.
type guards struct {
	given, marked []store.Stale
}

// mark returns the stale objects of a run with Stale.Protects set. The parameter changed has the objects that changed.
func (g *guards) mark(stale []store.Stale, changed []manifest.Key, folder *store.Store) []store.Stale {
	if store.SameStale(stale, g.given) && !slices.ContainsFunc(changed, usesCredentials) {
		return g.marked
	}
	g.given = stale
	now := slices.Clone(stale)
	uses := usesOf(folder, now)
	for i, one := range now {
		now[i].Protects = uses[one.Key] != "" || mayTakeAway(one.Key) || isPolicy(one.Key) &&
			(protects(folder.Served(one.Key)) || protects(folder.Held()[one.Key].Candidate))
	}
	if !slices.EqualFunc(now, g.marked, store.Stale.Equal) {
		g.marked = now
	}
	return g.marked
}

// mayTakeAway reports whether objects of a kind allow something to others, or ask who sends a request.
func mayTakeAway(key manifest.Key) bool {
	return key.Kind == api.KindGatewayExtension || key.Kind == "ReferenceGrant" || key.Kind == "Namespace"
}

// usesCredentials reports whether objects of a kind may name Secrets or ConfigMaps with credentials.
func usesCredentials(key manifest.Key) bool {
	return isPolicy(key) || key.Kind == api.KindGatewayExtension
}

// usesOf returns, for each stale Secret and ConfigMap that policies use, what an edit of it that is not applied leaves in
// force.
func usesOf(folder *store.Store, stale []store.Stale) map[manifest.Key]string {
	asked := map[manifest.Key]*manifest.Object{}
	for _, one := range stale {
		if one.Key.Kind == "Secret" || one.Key.Kind == "ConfigMap" {
			asked[one.Key] = folder.Served(one.Key)
		}
	}
	uses := map[manifest.Key]string{}
	if len(asked) == 0 {
		return uses
	}
	say := func(key manifest.Key, words string) {
		if _, isAsked := asked[key]; isAsked && uses[key] == "" {
			uses[key] = words
		}
	}
	for _, o := range folder.ServedOf(usesCredentials) {
		for _, use := range credentialsOf(o) {
			if use.labels == nil {
				say(use.key, use.words)
				continue
			}
			for key, held := range asked {
				if use.selects(key, held) {
					say(key, use.words)
				}
			}
		}
	}
	return uses
}

// credentials is a Secret or ConfigMap that an object uses, or the labels of such Secrets.
type credentials struct {
	key    manifest.Key      // the name is "" if labels select Secrets
	labels map[string]string // nil if key has a name
	words  string            // what stays in force while an edit of it is not applied
}

// selects reports whether the labels select an object.
func (c credentials) selects(key manifest.Key, object *manifest.Object) bool {
	target := store.Target{GroupKind: c.key.GroupKind(), Labels: c.labels}
	return object != nil && c.key.Namespace == key.Namespace && target.Selects(key, object.Value.GetLabels())
}

// credentialsOf returns the Secrets and ConfigMaps with credentials that a policy or a GatewayExtension names.
func credentialsOf(o *manifest.Object) (all []credentials) {
	add := func(kind, namespace, name, words string) {
		all = append(all, credentials{key: manifest.Key{Kind: kind, Namespace: namespace, Name: name}, words: words})
	}
	secret := func(ref api.SecretRef, words string) {
		namespace := o.Key.Namespace
		if ref.Namespace != nil {
			namespace = string(*ref.Namespace)
		}
		add("Secret", namespace, string(ref.Name), words)
	}
	switch value := o.Value.(type) {
	case *api.TrafficPolicy:
		const keys = "the keys that this edit removes are still accepted"
		if auth := value.Spec.BasicAuth; auth != nil && auth.SecretRef != nil {
			secret(auth.SecretRef.SecretRef, removedUsers)
		}
		if auth := value.Spec.APIKeyAuth; auth != nil && auth.SecretRef != nil {
			secret(*auth.SecretRef, keys)
		} else if auth != nil && auth.SecretSelector != nil {
			all = append(all, credentials{key: manifest.Key{Kind: "Secret", Namespace: o.Key.Namespace}, labels: auth.SecretSelector.MatchLabels, words: keys})
		}
	case *gwv1.BackendTLSPolicy:
		for _, ref := range value.Spec.Validation.CACertificateRefs {
			add(string(ref.Kind), o.Key.Namespace, string(ref.Name), "backends with a certificate of an authority that this edit removes are still trusted")
		}
	case *api.GatewayExtension:
		if value.Spec.OAuth2 != nil {
			add("Secret", o.Key.Namespace, string(value.Spec.OAuth2.Credentials.ClientSecretRef.Name), "the client secret before this edit is still used")
		}
		if value.Spec.JWT == nil {
			break
		}
		for _, provider := range value.Spec.JWT.Providers {
			if local := provider.JWKS.Local; local != nil && local.ConfigMapRef != nil {
				add("ConfigMap", o.Key.Namespace, string(local.ConfigMapRef.Name), "tokens of the keys that this edit removes are still accepted")
			}
		}
	}
	return all
}

// removedUsers says what an edit that removes users leaves in force while it is not applied.
const removedUsers = "the users that this edit removes still get in"
