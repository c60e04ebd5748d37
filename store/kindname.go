package store

import (
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// KindName is a kind that gatefold reads, as FindKind returns it.
type KindName struct {
	Group, Kind   string
	ClusterScoped bool // its objects have no namespace
}

// FindKind returns the kind that a user's word names. The word is a name, plural or short name in any case,
// with or without ".GROUP" (httproute, HTTPRoutes, svc, gateways.gateway.networking.k8s.io). kubectl accepts
// the same words. The words for an XListenerSet name the kind ListenerSet. For an unknown word, ok is false, and the result like is the name of the most similar kind, or
// "" if no kind is similar.
func FindKind(word string) (found KindName, like string, ok bool) {
	name, group, grouped := strings.Cut(strings.ToLower(word), ".")
	if old := strings.ToLower(schema.OldListenerSet); (name == old || name == old+"s") && (!grouped || group == schema.OldGroup) {
		name, group = "listenerset", gatewayGroup
	}
	var all []string
	for _, k := range kinds {
		for _, other := range k.words() {
			if name == other && (!grouped || group == k.group) {
				return KindName{k.group, k.name, k.cluster}, "", true
			}
		}
		all = append(all, k.name)
	}
	return KindName{}, manifest.Nearest(name, all), false
}

// words returns the words for the kind that a user may write, in lower case: the name, the plural and the short
// name. The short names are those of the CRDs and of Kubernetes.
func (k *kind) words() []string {
	name := strings.ToLower(k.name)
	plural := name + "s"
	switch {
	case strings.HasSuffix(name, "s"):
		plural = name + "es"
	case strings.HasSuffix(name, "cy"):
		plural = strings.TrimSuffix(name, "y") + "ies"
	}
	short := map[string]string{
		"GatewayClass": "gc", "Gateway": "gtw", "ListenerSet": "lset", "ReferenceGrant": "refgrant",
		kindBackendTLSPolicy: "btlspolicy", "Namespace": "ns", "Service": "svc", "ConfigMap": "cm",
	}
	words := []string{name, plural}
	if word := short[k.name]; word != "" {
		words = append(words, word)
	}
	return words
}
