package adapter

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// get returns the object of the call as a client reads it. It returns a NotFound error if the object does not
// exist, and another error if its status is not available or invalid.
func (a *Adapter) get(c call) (map[string]any, error) {
	missing := apierrors.NewNotFound(c.resource.groupResource(), c.name)
	switch c.resource.kind {
	case crdKind:
		if crd, ok := a.crd(c.name); ok {
			return crd, nil
		}
		return nil, missing
	case "Pod":
		for _, pod := range a.pods(c.namespace) {
			if pod.Name == c.name {
				return podContent(pod)
			}
		}
		return nil, missing
	}
	a.mu.Lock()
	found := a.objects[c.key()]
	a.mu.Unlock()
	if found == nil {
		return nil, missing
	}
	return a.read(c, found)
}

// list returns a list of the objects of a kind that match the label selector. The list covers one namespace, or
// all if the call has no namespace. The errors are those of get.
func (a *Adapter) list(c call) (any, error) {
	all, err := a.all(c)
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, item := range all {
		if c.labels.Matches(labelsOf(item)) {
			items = append(items, item)
		}
	}
	a.mu.Lock()
	revision := a.revision
	a.mu.Unlock()
	return map[string]any{
		"apiVersion": c.resource.apiVersion(c.version),
		"kind":       c.resource.kind + "List",
		"metadata":   map[string]any{"resourceVersion": strconv.FormatInt(revision, 10)},
		"items":      items,
	}, nil
}

// all returns the objects of a kind in the namespace of the call, or in all namespaces if it has none. The
// errors are those of get.
func (a *Adapter) all(c call) ([]map[string]any, error) {
	var all []map[string]any
	switch c.resource.kind {
	case crdKind:
		return a.crds, nil
	case "Pod":
		for _, pod := range a.pods(c.namespace) {
			content, err := podContent(pod)
			if err != nil {
				return nil, err
			}
			all = append(all, content)
		}
		return all, nil
	}
	for _, k := range a.keys(func(k key) bool { return k.resource == c.resource && (c.namespace == "" || k.namespace == c.namespace) }) {
		one := c
		one.namespace, one.name = k.namespace, k.name
		content, err := a.get(one)
		if apierrors.IsNotFound(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, content)
	}
	return all, nil
}

// labelsOf returns the labels of an object.
func labelsOf(content map[string]any) labels.Set {
	set := labels.Set{}
	written, _ := metadataOf(content)["labels"].(map[string]any)
	for name, value := range written {
		set[name], _ = value.(string)
	}
	return set
}

// read returns a stored object as a client reads it: in the requested version, with default values and with its
// status. It returns an error if the status is not available or invalid.
func (a *Adapter) read(c call, stored *object) (map[string]any, error) {
	content := runtime.DeepCopyJSON(stored.content)
	content["apiVersion"] = c.resource.apiVersion(c.version)
	metadata := metadataOf(content)
	metadata["resourceVersion"] = strconv.FormatInt(stored.revision, 10)
	if c.resource.kind == "Namespace" && c.resource.group == "" {
		names, _ := metadata["labels"].(map[string]any)
		if names == nil {
			names = map[string]any{}
			metadata["labels"] = names
		}
		names[corev1.LabelMetadataName] = c.name
		content["status"] = map[string]any{"phase": string(corev1.NamespaceActive)}
	}
	checks := c.resource.checks[c.version]
	if checks == nil || a.options.Status == nil {
		return c.complete(content), nil
	}
	status, err := a.options.Status(c.resource.groupKind(), c.namespace, c.name)
	if err != nil {
		return nil, err
	}
	if status != nil {
		content["status"] = status
	}
	content = checks.complete(content)
	if err := checks.status(content); err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", c.resource.kind, c.namespace, c.name, err)
	}
	return content, nil
}

// pods returns the Pods of a namespace, or nil if Options.Pods is nil.
func (a *Adapter) pods(namespace string) []*corev1.Pod {
	if a.options.Pods == nil {
		return nil
	}
	return a.options.Pods(namespace)
}

// podContent returns a Pod as a map of JSON values.
func podContent(pod *corev1.Pod) (map[string]any, error) {
	pod = pod.DeepCopy()
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
}

// writeLog writes the log of a Pod as the response. It returns a NotFound error if the Pod does not exist.
func (a *Adapter) writeLog(w http.ResponseWriter, c call) error {
	for _, pod := range a.pods(c.namespace) {
		if pod.Name == c.name {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(a.options.Log(c.namespace, c.name, c.since))
			return nil
		}
	}
	return apierrors.NewNotFound(c.resource.groupResource(), c.name)
}

// compareKeys orders keys by kind, namespace and name.
func compareKeys(x, y key) int {
	return cmp.Or(cmp.Compare(x.resource.plural, y.resource.plural), cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
}
