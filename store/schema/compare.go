package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store/api"
)

// onlyHereFile is the name of the file that says what to write for a cluster in place of what gatefold alone has.
const onlyHereFile = "onlyhere.yaml"

// The codes of findings about objects that gatefold takes. Only Kgateway finds them.
const (
	NotInKgateway      = "NotInKgateway"      // a cluster refuses the object, or serves what gatefold closes
	NoEffectInKgateway = "NoEffectInKgateway" // kgateway does not read it
)

// Kgateway knows what a version of kgateway takes, and finds what gatefold takes beyond that. Several goroutines may use
// it.
type Kgateway struct {
	version  string
	checkers map[schema.GroupKind]func() *checker
	keys     []kgatewayKey
	hints    onlyHere
}

// onlyHere is the content of onlyHereFile: hints for the user. Fields are by kind and path, annotations by name.
type onlyHere struct {
	Fields      map[string]map[string]string `json:"fields"`
	Annotations map[string]string            `json:"annotations"`
}

// KgatewayNames returns the names that FindKgateway knows, such as kgateway-2.5.
func KgatewayNames() (names []string) {
	files, err := crds.ReadDir(kgatewayFolder)
	must(err, kgatewayFolder)
	for _, file := range files {
		names = append(names, "kgateway-"+strings.TrimSuffix(file.Name(), ".txt"))
	}
	return names
}

// FindKgateway returns the version of kgateway with a name such as kgateway-2.5. It returns an error that lists the names
// if there is no such version.
func FindKgateway(name string) (*Kgateway, error) {
	if !slices.Contains(KgatewayNames(), name) {
		return nil, fmt.Errorf("%q is not one of %s", name, strings.Join(KgatewayNames(), ", "))
	}
	version := strings.TrimPrefix(name, "kgateway-")
	names := readKgateway(version)
	k := &Kgateway{version: version, checkers: map[schema.GroupKind]func() *checker{}, keys: names.keys}
	text, err := crds.ReadFile(onlyHereFile)
	must(err, onlyHereFile)
	must(yaml.UnmarshalStrict(text, &k.hints), onlyHereFile)
	for kind, root := range names.roots() {
		k.add(schema.GroupKind{Group: api.Group, Kind: kind}, func() *checker { return &checker{root: root} })
	}
	for _, own := range crdKinds() {
		if own.patch != nil {
			k.add(own.GroupKind, func() *checker { return compileVersion(own.crd[own.versions[0]].read(), nil) })
		}
	}
	return k, nil
}

// add adds a kind. The function build returns its checker, and is called once, if an object of the kind is compared.
func (k *Kgateway) add(gk schema.GroupKind, build func() *checker) {
	k.checkers[gk] = sync.OnceValue(func() *checker {
		c := build()
		c.finish(&kind{GroupKind: gk, unserved: &notServed{}})
		return c
	})
}

// Compare returns what a cluster with this version of kgateway would not take of an object as it is written. It changes
// the object. The parameter own has the findings of gatefold about it: Compare leaves out what gatefold does not take
// either, and what is in such a field. All findings are warnings, as gatefold uses the object. Rules that span several
// fields are not compared.
func (k *Kgateway) Compare(gk schema.GroupKind, object map[string]any, own []Finding) (found []Finding) {
	dropSilently(object)
	found = append(k.annotations(gk.Kind, object), k.options(gk.Kind, object)...)
	if k.checkers[gk] == nil {
		return found
	}
	m := &mistakes{checker: k.checkers[gk](), trail: make(trail, 0, 16)}
	walk{m}.object(m.root, object)
	for _, f := range m.found {
		known := func(o Finding) bool {
			below, in := strings.CutPrefix(f.Field, o.Field)
			return !o.Warning && in && o.Field != "" && (below == "" || below[0] == '.' || below[0] == '[')
		}
		if !slices.ContainsFunc(own, known) {
			found = append(found, k.refused(gk.Kind, f))
		}
	}
	return found
}

// hasNoField is in messages about a field that kgateway does not have.
const hasNoField = " has no field "

var anIndex = regexp.MustCompile(`\[[0-9]+\]`)

// refused returns the finding for what a cluster refuses, from the finding of a schema of kgateway.
func (k *Kgateway) refused(kind string, f Finding) Finding {
	out := Finding{Code: NotInKgateway, Field: f.Field, Warning: true}
	out.Hint = k.hints.Fields[kind][anIndex.ReplaceAllString(f.Field, "[]")]
	if f.Code == UnknownField {
		name := f.Field[strings.LastIndexByte(f.Field, '.')+1:]
		out.Message = "kgateway " + k.version + hasNoField + shown(name) + ": a cluster refuses the object"
		return out
	}
	out.Message = fmt.Sprintf("kgateway %s refuses this: %s", k.version, f.Message)
	if out.Hint == "" {
		out.Hint = f.Hint
	}
	return out
}

// annotations returns the annotations and labels of an object that gatefold reads, and this version of kgateway does not.
func (k *Kgateway) annotations(kind string, object map[string]any) (found []Finding) {
	metadata, _ := object["metadata"].(map[string]any)
	for _, a := range Annotations() {
		list := listOf(a)
		if _, written := entries(metadata, list)[a.Name]; !written || !slices.Contains(a.Kinds, kind) || k.reads(a.Name, kind) {
			continue
		}
		f := k.unread("metadata."+list, a.Name, k.hints.Annotations[a.Name])
		if a.Name == api.AnnotationClosed {
			f.Code, f.Message = NotInKgateway, f.Message+": the rules that it closes are open there"
		}
		found = append(found, f)
	}
	return found
}

// options returns the TLS options of an object with gatefold's own names: those of listeners and of a BackendTLSPolicy.
func (k *Kgateway) options(kind string, object map[string]any) (found []Finding) {
	spec, _ := object["spec"].(map[string]any)
	places := map[string]any{"spec": spec}
	listeners, _ := spec["listeners"].([]any)
	for i, listener := range listeners {
		fields, _ := listener.(map[string]any)
		places[fmt.Sprintf("spec.listeners[%d].tls", i)] = fields["tls"]
	}
	for _, at := range slices.Sorted(maps.Keys(places)) {
		tls, _ := places[at].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(entries(tls, "options"))) {
			local, own := strings.CutPrefix(name, ownPrefix+"/")
			if !own {
				continue
			}
			hint := "leave it out"
			if other := kgatewayPrefix + "/" + local; k.reads(other, kind) {
				hint = "write " + other + ", which gatefold reads, too"
			}
			found = append(found, k.unread(at+".options", name, hint))
		}
	}
	return found
}

// unread returns the finding for a name in a map of an object that kgateway does not read there.
func (k *Kgateway) unread(in, name, hint string) Finding {
	return Finding{
		Code: NoEffectInKgateway, Field: in + "[" + name + "]", Hint: hint, Warning: true,
		Message: fmt.Sprintf("kgateway %s does not read %s here", k.version, name),
	}
}

// reads reports whether this version of kgateway reads an annotation, a label or an option of objects of a kind.
func (k *Kgateway) reads(name, kind string) bool {
	return slices.ContainsFunc(k.keys, func(key kgatewayKey) bool { return key.name == name && slices.Contains(key.kinds, kind) })
}
