package page

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// reference is a field of an object that names or selects another object.
type reference struct {
	Field string
	From  manifest.Key
	To    manifest.Key
	// By is the reason why the object is selected, such as "selected by label app=x". It is "" for a reference
	// by name.
	By string
	// Missing is true if To is not served. Linked is true if To has a page. Both are set only on the page of an
	// object.
	Missing, Linked bool
}

// Every reports whether the reference can stand for several objects, because it does not name a single object. This
// is so if To.Name is "*", or if the reference is a backendRef that delegates to all routes with a label (see
// knownKind).
func (r reference) Every() bool { return r.To.Name == "*" || !knownKind(r.To) }

// knownKind reports whether the key has the kind of an object, which begins with a capital letter. A backendRef
// that delegates to routes by label has a kind in lower case instead; then the result is false.
func knownKind(key manifest.Key) bool {
	return key.Kind != "" && key.Kind[0] >= 'A' && key.Kind[0] <= 'Z'
}

// referenceFields returns the names of the fields that refer to other objects. It maps each name to the default group
// and kind of the referenced object. The default is used for a reference that does not state its kind.
func referenceFields() map[string]manifest.Key {
	secret, configMap := manifest.Key{Kind: "Secret"}, manifest.Key{Kind: "ConfigMap"}
	gateway, service := manifest.Key{Group: gwv1.GroupName, Kind: "Gateway"}, manifest.Key{Kind: "Service"}
	return map[string]manifest.Key{
		"parentRefs": gateway, "parentRef": gateway, "backendRefs": service, "backendRef": service, "targetRefs": {}, "targetRef": {},
		"certificateRefs": secret, "clientCertificateRef": secret, "secretRef": secret, "clientSecretRef": secret,
		"caCertificateRefs": configMap, "configMapRef": configMap,
		"extensionRef": {Group: api.Group, Kind: api.KindGatewayExtension},
	}
}

// read adds the references and selections in an object to w.found and w.selected.
func (w *referenceWalker) read(o *manifest.Object) {
	w.object = o.Key
	w.walk(reflect.ValueOf(o.Value), "")
	if slice, ok := manifest.As[*discoveryv1.EndpointSlice](o); ok {
		if service := slice.Labels[discoveryv1.LabelServiceName]; service != "" {
			w.add("metadata.labels", manifest.Key{Kind: "Service", Namespace: o.Key.Namespace, Name: service})
		}
	}
	if gateway, ok := manifest.As[*gwv1.Gateway](o); ok {
		w.add("spec.gatewayClassName", manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: string(gateway.Spec.GatewayClassName)})
	}
}

// sortReferrers sorts references by the object that contains them, and then by field.
func sortReferrers(from []reference) {
	slices.SortFunc(from, func(a, b reference) int {
		return cmp.Or(manifest.CompareKeys(a.From, b.From), strings.Compare(a.Field, b.Field))
	})
}

// referrer is a field that names an object. A folder has many, so a referrer needs less memory than a
// reference.
type referrer struct {
	field string
	from  *manifest.Object
}

// referenceWalker collects the references in the fields of objects.
type referenceWalker struct {
	fields    map[string]manifest.Key // the result of referenceFields
	types     map[reflect.Type]*structType
	selecting map[reflect.Type]bool // the result of selectingTypes
	wildcard  string                // the namespace that means all namespaces in a reference to routes by label
	object    manifest.Key          // the object that is being read
	path      []byte                // the path of the current field in the object
	paths     map[string]string     // interns the values of reference.Field, so that equal paths share memory
	found     []reference
	selected  []selection
}

// structType is what the walker remembers about a Go type of structs.
type structType struct {
	fields []structField
	names  nameFields
	// selects is true if a value may select objects (see selectingTypes).
	selects bool
}

// structField is a field of a struct that may contain references. name is "" if the field is embedded.
type structField struct {
	index int
	name  string
}

// nameFields are the indexes of the fields of a struct that together name an object. An index is nil if the
// struct has no such field.
type nameFields struct{ group, kind, namespace, name []int }

// newReferenceWalker returns a walker that has no references yet.
func newReferenceWalker(wildcard string) *referenceWalker {
	return &referenceWalker{fields: referenceFields(), types: map[reflect.Type]*structType{}, selecting: selectingTypes(), wildcard: wildcard, paths: map[string]string{}}
}

// typeOf returns what the walker needs to know about a Go type of structs. It computes this once for each type.
func (w *referenceWalker) typeOf(typ reflect.Type) *structType {
	known := w.types[typ]
	if known == nil {
		known = &structType{fieldsOf(typ), namesOf(typ), w.selecting[typ]}
		w.types[typ] = known
	}
	return known
}

// fieldsOf returns the fields of a struct type that may contain references: exported fields that are structs, or
// pointers to structs, or lists of structs. The fields metadata and status are left out.
func fieldsOf(typ reflect.Type) (fields []structField) {
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := field.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if field.IsExported() && below.Kind() == reflect.Struct && tag != "metadata" && tag != "status" && tag != "-" {
			fields = append(fields, structField{i, tag})
		}
	}
	return fields
}

// namesOf returns the nameFields of a struct type.
func namesOf(typ reflect.Type) nameFields {
	index := func(name string) []int {
		field, _ := typ.FieldByName(name)
		return field.Index
	}
	return nameFields{index("Group"), index("Kind"), index("Namespace"), index("Name")}
}

// field returns the path of the current field as text. Equal paths share their memory (w.paths).
func (w *referenceWalker) field() string {
	path, ok := w.paths[string(w.path)]
	if !ok {
		path = string(w.path)
		w.paths[path] = path
	}
	return path
}

// add adds a reference from the object that is being read to another object (the parameter to).
func (w *referenceWalker) add(field string, to manifest.Key) {
	w.found = append(w.found, reference{Field: field, From: w.object, To: to})
}

// walk collects the references and selections in the value v, which is a part of an object. The parameter name is
// the name of the field that contains v. If v is a struct, this name decides whether the struct is a reference
// (w.fields).
func (w *referenceWalker) walk(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem(), name)
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Struct && kind != reflect.Pointer {
			return
		}
		length := len(w.path)
		for i := range v.Len() {
			w.path = append(strconv.AppendInt(append(w.path, '['), int64(i), 10), ']')
			w.walk(v.Index(i), name)
			w.path = w.path[:length]
		}
	case reflect.Struct:
		typ := w.typeOf(v.Type())
		if typ.selects {
			if s, below, ok := w.selectionOf(v); ok {
				s.Field, s.From = w.field()+below, w.object
				w.selected = append(w.selected, s)
				name = "" // the value itself names no object
			}
		}
		if typ.names.name != nil {
			if missing, ok := w.fields[name]; ok {
				w.add(w.field(), w.key(v, typ.names, missing))
				name = "" // an embedded struct is part of the same reference
			}
		}
		w.walkFields(v, typ, name)
	}
}

// walkFields collects the references and selections in the fields of a struct. The parameter name is the name of
// the field that has the struct. The fields of an embedded struct count as fields of the outer struct.
func (w *referenceWalker) walkFields(v reflect.Value, typ *structType, name string) {
	length := len(w.path)
	for _, field := range typ.fields {
		if field.name == "" {
			w.walk(v.Field(field.index), name)
			continue
		}
		if length > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, field.name...)
		w.walk(v.Field(field.index), field.name)
		w.path = w.path[:length]
	}
}

// key returns the object that a reference names. The parameter v is the struct of the reference, and the parameter
// fields has the indexes of the struct's fields. The parameter missing has the group and kind for a reference that
// states no kind. A reference without a namespace is to the namespace of the object that contains the reference.
func (w *referenceWalker) key(v reflect.Value, fields nameFields, missing manifest.Key) manifest.Key {
	key := manifest.Key{Group: missing.Group, Kind: missing.Kind, Namespace: w.object.Namespace}
	if kind, ok := textOf(v, fields.kind); ok && kind != "" {
		key.Kind = kind
		if group, ok := textOf(v, fields.group); ok {
			key.Group = group
		}
	}
	if namespace, ok := textOf(v, fields.namespace); ok && namespace != "" {
		key.Namespace = namespace
	}
	key.Name, _ = textOf(v, fields.name)
	return key
}

// textOf returns the text of the struct field with an index. ok is false if the index is nil, or if the field is
// nil or not a string.
func textOf(v reflect.Value, index []int) (text string, ok bool) {
	if index == nil {
		return "", false
	}
	field := v.FieldByIndex(index)
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	if !field.IsValid() || field.Kind() != reflect.String {
		return "", false
	}
	return field.String(), true
}
