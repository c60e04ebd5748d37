package adapter

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deletionLimit is how long gatefold may need to remove the status of a deleted object.
const deletionLimit = 30 * time.Second

// create stores a new object and returns it as a client reads it. It returns an error if the object is invalid, has
// a resourceVersion or exists already, if its namespace does not exist, or if outlive returns an error.
func (a *Adapter) create(c call, body map[string]any) (map[string]any, error) {
	if err := c.fits(body); err != nil {
		return nil, err
	}
	c.name, _ = metadataOf(body)["name"].(string)
	if !c.resource.namespaced {
		c.namespace = ""
	}
	if err := a.outlive(c); err != nil {
		return nil, err
	}
	return a.change(c, func(before *object) (map[string]any, error) {
		if before != nil {
			return nil, apierrors.NewAlreadyExists(c.resource.groupResource(), c.name)
		}
		if c.namespace != "" && a.objects[key{resource: a.kind(schema.GroupKind{Kind: "Namespace"}), name: c.namespace}] == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, c.namespace)
		}
		if text, _ := metadataOf(body)["resourceVersion"].(string); text != "" {
			return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
		content := c.clean(body)
		metadata := metadataOf(content)
		metadata["uid"], metadata["creationTimestamp"], metadata["generation"] = string(uuid.NewUUID()), now(), int64(1)
		return content, c.validate(content, nil)
	})
}

// outlive waits until gatefold has removed the status of a deleted object with the same name. Without the wait,
// that status would appear on the new object. It returns an error after deletionLimit, or if Options.Status
// fails.
func (a *Adapter) outlive(c call) error {
	a.mu.Lock()
	wait := a.deleted[c.key()] && a.options.Status != nil
	delete(a.deleted, c.key())
	a.mu.Unlock()
	for limit := time.Now().Add(deletionLimit); wait; time.Sleep(5 * time.Millisecond) {
		status, err := a.options.Status(c.resource.groupKind(), c.namespace, c.name)
		if err != nil || status == nil {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%s %s/%s was deleted %v ago and still has a status", c.resource.kind, c.namespace, c.name, deletionLimit)
		}
	}
	return nil
}

// update replaces an object and returns it as a client reads it. It returns an error if the object does not exist,
// if the new object is invalid, or if the new object has another uid or resourceVersion than the old one. If the
// kind has a CRD, a missing resourceVersion is an error as well, as it is with API servers.
func (a *Adapter) update(c call, body map[string]any) (map[string]any, error) {
	if err := c.fits(body); err != nil {
		return nil, err
	}
	return a.change(c, func(before *object) (map[string]any, error) {
		content, err := c.replace(before, body)
		version, _ := metadataOf(body)["resourceVersion"].(string)
		if err == nil && version == "" && c.resource.checks != nil {
			wrong := field.Invalid(field.NewPath("metadata", "resourceVersion"), version, "must be specified for an update")
			err = apierrors.NewInvalid(c.resource.groupKind(), c.name, field.ErrorList{wrong})
		}
		return content, err
	})
}

// patch merges a patch into an object (RFC 7386) and returns the object as a client reads it. It returns an error if
// the object does not exist, if the patch has another uid or resourceVersion, or if the patched object is invalid.
func (a *Adapter) patch(c call, patch map[string]any) (map[string]any, error) {
	return a.change(c, func(before *object) (map[string]any, error) {
		if before == nil {
			return nil, apierrors.NewNotFound(c.resource.groupResource(), c.name)
		}
		merged, _ := merge(runtime.DeepCopyJSON(before.content), patch).(map[string]any)
		merged["apiVersion"] = c.resource.apiVersion(c.version)
		if err := c.fits(merged); err != nil {
			return nil, err
		}
		return c.replace(before, merged)
	})
}

// merge returns target with the patch applied, by the algorithm of RFC 7386. It modifies target.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	fields, ok := target.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(fields, name)
			continue
		}
		fields[name] = merge(fields[name], value)
	}
	return fields
}

// replace returns the content that replaces a stored object. It keeps uid and creationTimestamp, and increases
// the generation if more than metadata, status and apiVersion changed. It returns an error if before is nil, if
// body has another uid or resourceVersion, or if the new object is invalid.
func (c call) replace(before *object, body map[string]any) (map[string]any, error) {
	if before == nil {
		return nil, apierrors.NewNotFound(c.resource.groupResource(), c.name)
	}
	old := metadataOf(before.content)
	if text, _ := metadataOf(body)["resourceVersion"].(string); text != "" && text != strconv.FormatInt(before.revision, 10) {
		return nil, apierrors.NewConflict(c.resource.groupResource(), c.name, fmt.Errorf("the object has been modified since version %s", text))
	}
	if uid, _ := metadataOf(body)["uid"].(string); uid != "" && uid != old["uid"] {
		return nil, apierrors.NewConflict(c.resource.groupResource(), c.name, fmt.Errorf("the object with uid %s is gone", uid))
	}
	content := c.clean(body)
	metadata := metadataOf(content)
	metadata["uid"], metadata["creationTimestamp"] = old["uid"], old["creationTimestamp"]
	generation, _ := old["generation"].(int64)
	if !equality.Semantic.DeepEqual(outside(c.complete(content)), outside(c.complete(before.content))) {
		generation++
	}
	metadata["generation"] = generation
	return content, c.validate(content, before.content)
}

// outside returns the fields that a new generation depends on: all except metadata, status and apiVersion.
func outside(content map[string]any) map[string]any {
	rest := maps.Clone(content)
	for _, name := range []string{"metadata", "status", "apiVersion"} {
		delete(rest, name)
	}
	return rest
}

// remove deletes an object and returns a Status. If the object is a Namespace, it also deletes all objects in
// it. The parameter options has DeleteOptions; only the precondition uid is used. It returns an error if the
// object does not exist or has another uid.
func (a *Adapter) remove(c call, options map[string]any) (map[string]any, error) {
	wanted, _ := options["preconditions"].(map[string]any)
	a.announce(c)
	_, err := a.change(c, func(before *object) (map[string]any, error) {
		if before == nil {
			return nil, apierrors.NewNotFound(c.resource.groupResource(), c.name)
		}
		if uid, ok := wanted["uid"]; ok && uid != metadataOf(before.content)["uid"] {
			return nil, apierrors.NewConflict(c.resource.groupResource(), c.name, fmt.Errorf("the object with uid %v is gone", uid))
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	if c.resource.kind == "Namespace" && c.resource.group == "" {
		err = a.empty(c.name)
	}
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": metav1.StatusSuccess}, err
}

// announce calls Options.Deleting with an object that is about to be deleted. It does nothing if the kind has
// no CRD or if the object does not exist.
func (a *Adapter) announce(c call) {
	if a.options.Deleting == nil || c.resource.checks == nil {
		return
	}
	if object, err := a.get(c); err == nil {
		a.options.Deleting(object)
	}
}

// empty deletes all objects of a namespace. It returns an error if an object cannot be deleted.
func (a *Adapter) empty(namespace string) error {
	for _, k := range a.keys(func(k key) bool { return k.namespace == namespace }) {
		inside := call{resource: k.resource, version: k.resource.versions[0], namespace: namespace, name: k.name}
		a.announce(inside)
		if _, err := a.change(inside, removed); err != nil {
			return err
		}
	}
	return nil
}

// change replaces an object by the result of the function next, or deletes it if the result is nil. Then it
// calls Options.Changed if the kind requires that. It returns the object as a client reads it, or nil if the
// object was deleted. It returns an error if next or Options.Changed fails, or if the object cannot be written
// or read.
func (a *Adapter) change(c call, next func(before *object) (map[string]any, error)) (map[string]any, error) {
	if c.resource.told && a.options.Changed != nil {
		a.telling.Lock()
		defer a.telling.Unlock()
	}
	after, err := a.exchange(c, next)
	if err != nil {
		return nil, err
	}
	var read map[string]any
	if after != nil {
		if read, err = a.read(c, after); err != nil {
			return nil, err
		}
	}
	if c.resource.told && a.options.Changed != nil {
		err = a.options.Changed(Event{Kind: c.resource.kind, Namespace: c.namespace, Name: c.name, Object: read})
	}
	return read, err
}

// exchange replaces the stored object and its file by the result of the function next, or deletes both if the
// result is nil. The argument of next is the stored object, or nil if there is none. If next returns an error,
// exchange changes nothing.
func (a *Adapter) exchange(c call, next func(*object) (map[string]any, error)) (*object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	content, err := next(a.objects[c.key()])
	if err != nil {
		return nil, err
	}
	if c.resource.filed {
		if err := a.file(c.key(), content); err != nil {
			return nil, err
		}
	}
	if content == nil {
		delete(a.objects, c.key())
		a.deleted[c.key()] = c.resource.checks != nil
		return nil, nil
	}
	a.revision++
	after := &object{content: content, revision: a.revision}
	a.objects[c.key()] = after
	return after, nil
}

// keys returns the sorted keys for which the function want returns true.
func (a *Adapter) keys(want func(key) bool) []key {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []key
	for k := range a.objects {
		if want(k) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, compareKeys)
	return found
}

// fits returns an error if body is not the object that the path names, if its name is not valid, or if a
// namespace is missing.
func (c call) fits(body map[string]any) error {
	metadata := metadataOf(body)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if body["apiVersion"] != c.resource.apiVersion(c.version) || body["kind"] != c.resource.kind {
		return apierrors.NewBadRequest(fmt.Sprintf("%v %v does not belong here", body["apiVersion"], body["kind"]))
	}
	if c.name != "" && name != c.name || namespace != "" && namespace != c.namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the body is about %s/%s, the path about %s/%s", namespace, name, c.namespace, c.name))
	}
	if c.resource.namespaced && c.namespace == "" {
		return apierrors.NewBadRequest("a namespace is missing")
	}
	if wrong := validation.NameIsDNSSubdomain(name, false); len(wrong) > 0 {
		return apierrors.NewInvalid(c.resource.groupKind(), name, field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, wrong[0])})
	}
	return nil
}

// clean returns a copy of a submitted object without its status and without the metadata that only the server
// sets. It sets the namespace, and replaces stringData of a Secret by data.
func (c call) clean(body map[string]any) map[string]any {
	content := runtime.DeepCopyJSON(body)
	delete(content, "status")
	metadata := metadataOf(content)
	for _, name := range []string{"uid", "creationTimestamp", "generation", "resourceVersion", "managedFields", "selfLink"} {
		delete(metadata, name)
	}
	if c.resource.namespaced {
		metadata["namespace"] = c.namespace
	}
	if c.resource.kind == "Secret" {
		foldStringData(content)
	}
	return content
}

// foldStringData moves the values in stringData of a Secret to data, base64-encoded.
func foldStringData(secret map[string]any) {
	plain, _ := secret["stringData"].(map[string]any)
	delete(secret, "stringData")
	if len(plain) == 0 {
		return
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		secret["data"] = data
	}
	for name, value := range plain {
		text, _ := value.(string)
		data[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
}

// complete returns a copy of an object with the default values of its version, and without unknown fields. If the
// kind has no CRD, the copy equals the object.
func (c call) complete(content map[string]any) map[string]any {
	checks := c.resource.checks[c.version]
	if checks == nil {
		return runtime.DeepCopyJSON(content)
	}
	return checks.complete(content)
}

// validate returns an error if an object (the parameter content) is invalid by the schema of its version. The
// parameter before is the object that content replaces, or nil. validate returns nil if the kind has no CRD.
func (c call) validate(content, before map[string]any) error {
	checks := c.resource.checks[c.version]
	if checks == nil {
		return nil
	}
	var wrong field.ErrorList
	if before == nil {
		wrong = checks.created(checks.complete(content))
	} else {
		wrong = checks.updated(checks.complete(content), checks.complete(before))
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(c.resource.groupKind(), c.name, wrong)
	}
	return nil
}

// metadataOf returns the metadata of an object. It adds an empty map if the metadata is missing.
func metadataOf(content map[string]any) map[string]any {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	return metadata
}
