package store

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// hiddenContent replaces the content of a Secret.
const hiddenContent = "[redacted]"

// Objects returns all served objects, unsorted. A Secret is a copy without content. The caller must not change
// the other objects.
func (s *Store) Objects() []*manifest.Object {
	all := make([]*manifest.Object, 0, len(s.serving.served))
	for _, at := range s.serving.served {
		object := at.object
		if object.Key.Kind == kindSecret {
			object = withoutContent(object)
		}
		all = append(all, object)
	}
	return all
}

// withoutContent returns a copy of a Secret with its name, namespace and type. Each of its keys has
// hiddenContent as the value.
func withoutContent(object *manifest.Object) *manifest.Object {
	bare := &corev1.Secret{}
	bare.Name, bare.Namespace = object.Key.Name, object.Key.Namespace
	if secret, ok := manifest.As[*corev1.Secret](object); ok {
		bare.Type, bare.StringData = secret.Type, map[string]string{}
		for key := range secret.Data {
			bare.StringData[key] = hiddenContent
		}
		for key := range secret.StringData {
			bare.StringData[key] = hiddenContent
		}
	}
	return &manifest.Object{Key: object.Key, Source: object.Source, Value: bare}
}

// Owners returns which namespaces a file belongs to by the path policies of the served Namespaces. It returns nil if no
// path policies are in force. The result is immutable.
func (s *Store) Owners() *tenancy.Owners { return s.fence.owners }
