package adapter

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Secret returns the decoded values of a Secret, by key. The bool is false if the Secret does not exist.
func (a *Adapter) Secret(namespace, name string) (map[string][]byte, bool) {
	content := a.stored("Secret", namespace, name)
	return values(content["data"], base64.StdEncoding.DecodeString), content != nil
}

// ConfigMap returns the values of a ConfigMap, by key. The bool is false if the ConfigMap does not exist.
func (a *Adapter) ConfigMap(namespace, name string) (map[string][]byte, bool) {
	content := a.stored("ConfigMap", namespace, name)
	all := values(content["data"], func(text string) ([]byte, error) { return []byte(text), nil })
	for key, value := range values(content["binaryData"], base64.StdEncoding.DecodeString) {
		all[key] = value
	}
	return all, content != nil
}

// stored returns the content of an object of the core group, or nil if the object does not exist.
func (a *Adapter) stored(kind, namespace, name string) map[string]any {
	k := key{a.kind(schema.GroupKind{Kind: kind}), namespace, name}
	a.mu.Lock()
	defer a.mu.Unlock()
	if found := a.objects[k]; found != nil {
		return found.content
	}
	return nil
}

// values decodes the values of a map of strings (the parameter written), which may be nil. It leaves out values that
// cannot be decoded.
func values(written any, decode func(string) ([]byte, error)) map[string][]byte {
	all := map[string][]byte{}
	fields, _ := written.(map[string]any)
	for name, value := range fields {
		text, _ := value.(string)
		if decoded, err := decode(text); err == nil {
			all[name] = decoded
		}
	}
	return all
}
