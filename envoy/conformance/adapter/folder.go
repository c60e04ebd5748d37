package adapter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/yaml"
)

// file writes an object to its file, or removes the file if content is nil. It replaces the file by a rename,
// so that no reader sees an incomplete file. It returns an error if the file cannot be written or removed.
func (a *Adapter) file(k key, content map[string]any) error {
	path := filepath.Join(a.options.Folder, k.file())
	if content == nil {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	fresh := filepath.Join(a.options.Folder, "."+k.file())
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// file returns the name of an object's file. Different objects have different names: "_" separates the parts,
// and a group contains a dot, but a namespace contains none.
func (k key) file() string {
	parts := []string{strings.ToLower(k.resource.kind), k.name}
	if k.namespace != "" {
		parts = []string{strings.ToLower(k.resource.kind), k.namespace, k.name}
	}
	if k.resource.checks != nil && k.resource.group != "" {
		parts[0] += "_" + k.resource.group
	}
	return strings.Join(parts, "_") + ".yaml"
}

// SetEndpointSlices replaces the EndpointSlices that the previous call stored. It deletes those that are not in
// the list. EndpointSlices that a client wrote are not deleted. It returns an error if a file cannot be
// written or removed.
func (a *Adapter) SetEndpointSlices(slices []*discoveryv1.EndpointSlice) error {
	r := a.kind(schema.GroupKind{Group: discoveryv1.GroupName, Kind: "EndpointSlice"})
	gone := map[key]bool{}
	a.mu.Lock()
	for k := range a.generated {
		gone[k] = true
	}
	a.mu.Unlock()
	for _, slice := range slices {
		slice = slice.DeepCopy()
		slice.TypeMeta = metav1.TypeMeta{APIVersion: r.apiVersion("v1"), Kind: r.kind}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(slice)
		if err != nil {
			return err
		}
		c := call{resource: r, version: "v1", namespace: slice.Namespace, name: slice.Name}
		delete(gone, c.key())
		if err := a.setSlice(c, content); err != nil {
			return err
		}
	}
	for k := range gone {
		if _, err := a.exchange(call{resource: r, version: "v1", namespace: k.namespace, name: k.name}, removed); err != nil {
			return err
		}
		a.mu.Lock()
		delete(a.generated, k)
		a.mu.Unlock()
	}
	return nil
}

// setSlice stores a generated EndpointSlice, or replaces the stored one. It returns an error if its file cannot
// be written.
func (a *Adapter) setSlice(c call, content map[string]any) error {
	_, err := a.exchange(c, func(before *object) (map[string]any, error) {
		a.generated[c.key()] = true
		if before == nil {
			fresh := c.clean(content)
			metadata := metadataOf(fresh)
			metadata["uid"], metadata["creationTimestamp"], metadata["generation"] = string(uuid.NewUUID()), now(), int64(1)
			return fresh, nil
		}
		return c.replace(before, content)
	})
	return err
}

// removed is an argument for exchange. It returns no content, so exchange deletes the object. The error is
// always nil.
func removed(*object) (map[string]any, error) { return nil, nil }
