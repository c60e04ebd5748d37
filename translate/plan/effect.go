package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// effect is a hash of what a rule or cluster does with a request. Rules or clusters with equal effects treat every
// request equally. The place in the YAML is not part of the hash.
type effect [sha256.Size]byte

// effects computes the effects of the rules and clusters of one View.
type effects struct {
	clusters map[string]*ir.Cluster
	// rules caches the results of ofRule. names caches the results of ofCluster by the name of the cluster.
	rules map[*ir.Rule]effect
	names map[string]effect
	// unasked are the issuers without a discovery document. Rules that need the document answer an error.
	unasked map[string]bool
}

func newEffects(view *ir.View) *effects {
	return &effects{clusters: view.Clusters, rules: map[*ir.Rule]effect{}, names: map[string]effect{}, unasked: map[string]bool{}}
}

// ofRule returns the effect of the rule's action and of the clusters that the action names. If the discovery
// document of an issuer is missing for the rule, it adds the issuer to e.unasked (see unaskedBy).
func (e *effects) ofRule(rule *ir.Rule) effect {
	known, ok := e.rules[rule]
	if !ok {
		known = e.of(&rule.Action)
		e.rules[rule] = known
		if issuer := unaskedBy(rule); issuer != "" {
			e.unasked[issuer] = true
		}
	}
	return known
}

// unaskedBy returns the OpenID issuer because of which a rule answers an error: nothing has requested the issuer's
// discovery document (see ir.Respond.Unasked). It returns "" if the rule has no such issuer.
func unaskedBy(rule *ir.Rule) string {
	if rule.Action.Respond == nil {
		return ""
	}
	return rule.Action.Respond.Unasked
}

// of returns the effect of any value of package ir. It panics if the value contains a type that effectWriter
// does not know.
func (e *effects) of(value any) (out effect) {
	w := &effectWriter{effects: e, sum: sha256.New()}
	w.value(reflect.ValueOf(value))
	w.sum.Sum(out[:0])
	return out
}

// ofCluster returns the effect of sending to a cluster. It returns the zero effect if the View has no such
// cluster.
func (e *effects) ofCluster(name string) effect {
	known, ok := e.names[name]
	if ok {
		return known
	}
	if cluster := e.clusters[name]; cluster != nil {
		known = e.of(*cluster)
	}
	e.names[name] = known
	return known
}

// effectPair computes the effects of both configurations. Index 0 is the old configuration, index 1 the new one.
type effectPair [2]*effects

// same reports whether a value of the old configuration (the parameter before) has the same effect as a value of the
// new configuration (the parameter after).
func (e effectPair) same(before, after any) bool { return e[0].of(before) == e[1].of(after) }

// sameCluster reports whether a cluster of the old configuration has the same effect as a cluster of the new
// configuration: Envoy treats requests to both clusters in the same way. The parameters before and after are the
// names of the two clusters.
func (e effectPair) sameCluster(before, after string) bool {
	return e[0].ofCluster(before) == e[1].ofCluster(after)
}

// effectWriter computes the hash that is an effect. It writes a length or a marker before each slice, map, text
// and pointer, so that different values give different hashes.
type effectWriter struct {
	*effects
	sum hash.Hash
}

// provenance reports whether a field of a struct only says where a value comes from, or why it is so. Such a field
// does not change what Envoy does, and is not part of an effect.
func provenance(owner reflect.Type, field string) bool {
	switch owner {
	case reflect.TypeFor[ir.Action]():
		return field == "Parts"
	case reflect.TypeFor[ir.Backend]():
		return field == "Field"
	case reflect.TypeFor[ir.Respond]():
		return field == "Why"
	case reflect.TypeFor[ir.Cluster]():
		return field == "Objects" || field == "Closed"
	case reflect.TypeFor[ir.CredentialUse]():
		return field == "Source"
	case reflect.TypeFor[ir.ExtensionUse]():
		return field == "Key"
	case reflect.TypeFor[ir.UpstreamTLS]():
		return field == "Policy" || field == "Authorities"
	case reflect.TypeFor[ir.Access]():
		return field == "Parts"
	case reflect.TypeFor[ir.Stream]():
		return field == "Behind"
	case reflect.TypeFor[ir.StreamRoute]():
		return field == "Origin" || field == "Section"
	}
	return false
}

// value hashes a value of package ir. For a field Cluster it also hashes the effect of the cluster with that name.
// All backends with weight 0 have the same hash. value panics if it does not know the kind of a value.
func (w *effectWriter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		w.pointer(v)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[ir.Backend]() && v.FieldByName("Weight").IsZero() {
			w.number(0) // it gets no request, so its other fields have no effect
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if provenance(v.Type(), field.Name) {
				continue
			}
			w.value(v.Field(i))
			if field.Name == "Cluster" && v.Field(i).Kind() == reflect.String {
				sent := w.ofCluster(v.Field(i).String())
				w.sum.Write(sent[:])
			}
		}
	case reflect.Slice, reflect.Array:
		w.number(uint64(v.Len()))
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map:
		w.entries(v)
	case reflect.Interface:
		w.value(v.Elem())
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		if v.Bool() {
			w.number(1)
		} else {
			w.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.number(v.Uint())
	case reflect.Float64:
		w.number(uint64(v.Float() * 1e9))
	default:
		panic("plan: " + v.Type().String() + " has no effect: add it to effectWriter.value")
	}
}

// pointer hashes the value that a pointer refers to. A nil pointer, empty Extras and empty HeaderMods have the
// same hash.
func (w *effectWriter) pointer(v reflect.Value) {
	emptyIsNil := v.Type() == reflect.TypeFor[*ir.Extras]() || v.Type() == reflect.TypeFor[*ir.HeaderMods]()
	if v.IsNil() || emptyIsNil && v.Elem().IsZero() {
		w.number(0)
		return
	}
	w.number(1)
	w.value(v.Elem())
}

// entries hashes a map whose keys are strings.
func (w *effectWriter) entries(v reflect.Value) {
	w.number(uint64(v.Len()))
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		w.text(key.String())
		w.value(v.MapIndex(key))
	}
}

func (w *effectWriter) text(text string) {
	w.number(uint64(len(text)))
	w.sum.Write([]byte(text))
}

func (w *effectWriter) number(n uint64) {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], n)
	w.sum.Write(bytes[:])
}
