package translate

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// Fault is a panic in a rule of the translation, which is a mistake in gatefold. Take returns it as an error. The
// Translator is consistent: a Take that replaces what the rule cannot process goes on.
type Fault struct {
	// Objects are the objects of which the rule computes something, sorted. There are none if the rule computes something
	// of many objects, such as the table of a host.
	Objects []manifest.Key
	Gateway manifest.Key // the Gateway of which the rule computes something; zero if there is none
	Stack   []byte       // of the goroutine
	Cause   error        // names the rule, its key, and what it panicked with
}

// Error implements error.
func (f *Fault) Error() string { return f.Cause.Error() }

// faultOf returns err, or a *Fault if it is a panic of a rule. The function known reports whether there is an object.
func faultOf(err error, known func(manifest.Key) bool) error {
	p := new(memo.Panic)
	if !errors.As(err, &p) {
		return err
	}
	f := &Fault{Stack: p.Stack, Cause: err}
	name := func(key any) {
		if object := objectInKey(reflect.ValueOf(key)); known(object) {
			f.Objects = append(f.Objects, object)
		}
	}
	for _, member := range p.Members {
		name(member)
	}
	for _, key := range p.Keys { // from the inside out
		if len(f.Objects) == 0 {
			name(key)
		}
		if f.Gateway.IsZero() {
			f.Gateway = gatewayOf(reflect.ValueOf(key))
		}
	}
	slices.SortFunc(f.Objects, manifest.CompareKeys)
	f.Objects = slices.Compact(f.Objects)
	return f
}

// objectInKey returns the object in the key of a rule: the key itself, or the first field that is one. It is zero if there is
// none.
func objectInKey(key reflect.Value) (object manifest.Key) {
	if key.Kind() != reflect.Struct {
		return object
	}
	if key.Type() == reflect.TypeFor[manifest.Key]() {
		field := func(name string) string { return key.FieldByName(name).String() }
		return manifest.Key{Group: field("Group"), Kind: field("Kind"), Namespace: field("Namespace"), Name: field("Name")}
	}
	for i := 0; i < key.NumField() && object.IsZero(); i++ {
		object = objectInKey(key.Field(i))
	}
	return object
}

// gatewayOf returns the Gateway in the key of a rule, which is a field with that name. It is zero if there is none.
func gatewayOf(key reflect.Value) manifest.Key {
	if key.Kind() != reflect.Struct {
		return manifest.Key{}
	}
	gateway := key.FieldByName("Gateway")
	if !gateway.IsValid() || gateway.Kind() != reflect.String {
		return manifest.Key{}
	}
	namespace, name, _ := strings.Cut(gateway.String(), "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}
}
