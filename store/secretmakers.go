package store

import (
	"fmt"
	"path"
	"regexp"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
)

// secretOf returns the Secret that an object of another program becomes in a cluster, and the object as text. The Secret
// is zero for an object of which none is made.
func secretOf(kind apischema.GroupKind, object map[string]any) (secret manifest.Key, as string) {
	metadata, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	of := func(in map[string]any, field string) map[string]any {
		value, _ := in[field].(map[string]any)
		return value
	}
	name, own := "", textOf(metadata["name"])
	switch kind {
	case apischema.GroupKind{Group: "external-secrets.io", Kind: "ExternalSecret"}:
		if name = textOf(of(spec, "target")["name"]); name == "" {
			name = own
		}
	case apischema.GroupKind{Group: "bitnami.com", Kind: "SealedSecret"}:
		name = own
	case apischema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}:
		name = textOf(spec["secretName"])
	case apischema.GroupKind{Group: "secrets.hashicorp.com", Kind: "VaultStaticSecret"},
		apischema.GroupKind{Group: "secrets.hashicorp.com", Kind: "VaultDynamicSecret"},
		apischema.GroupKind{Group: "secrets.hashicorp.com", Kind: "VaultPKISecret"}:
		name = textOf(of(spec, "destination")["name"])
	}
	if name == "" {
		return manifest.Key{}, ""
	}
	namespace := textOf(metadata["namespace"])
	if namespace == "" {
		namespace = "default"
	}
	return manifest.Key{Kind: kindSecret, Namespace: namespace, Name: name}, clean(fmt.Sprintf("%s %s/%s", kind.Kind, namespace, own))
}

// aMissingSecret matches the message that a Secret does not exist.
var aMissingSecret = regexp.MustCompile(`(?:^|\s)Secret ([^\s/]+)/([^\s/]+) does not exist`)

// secretMaker returns the end of a hint for a problem that a Secret does not exist, if the folder has an object of which
// another program makes this Secret in a cluster: gatefold needs the Secret itself. Otherwise it returns "".
func (s *problemLists) secretMaker(p manifest.Problem) string {
	names := aMissingSecret.FindStringSubmatch(p.Message)
	if names == nil {
		return ""
	}
	secret := manifest.Key{Kind: kindSecret, Namespace: names[1], Name: names[2]}
	var first *foreign
	at := ""
	for file, f := range s.sources.flawed {
		for i, one := range f.oddities().foreign {
			if one.makes == secret && (first == nil || file < at) {
				first, at = &f.oddities().foreign[i], file
			}
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("; %s (%s:%d) makes it in a cluster, and here it has to be given",
		first.name, path.Join(s.prefix, at), first.place.line)
}

// makesSecrets reports whether a file has objects of which other programs make Secrets.
func (f *file) makesSecrets() bool {
	if f == nil {
		return false
	}
	for _, one := range f.oddities().foreign {
		if one.name != "" {
			return true
		}
	}
	return false
}
