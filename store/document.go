package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// reader reads documents. Several goroutines may use it at once.
type reader struct {
	schemas checker
	save    bool // Options.Save: results have texts for the saved state
	secrets bool // Options.SaveSecrets: these texts may contain Secrets
	sound   bool // the documents were validated before under the same schema
	sharer  *sharer
}

// read reads one document and returns its content. Mistakes in the document are problems of the result.
func (r reader) read(text []byte) *result {
	d := r.open(text)
	for done := false; !done; {
		done = d.step()
	}
	return d.result
}

// open begins to read a document. There are five cases:
//   - The document is encrypted: open reads nothing (encrypted).
//   - The document is one object: open reads it.
//   - It is a List of objects: each later call of step reads one of them.
//   - It can be parsed, but has YAML mistakes, such as a duplicate key: open reads no object, and only records the
//     policies in the document. The targets of these policies must answer an error, because they would be
//     unprotected otherwise. The mistakes do not count if the document belongs to another program.
//   - It cannot be parsed at all: open sets unparsed, and file.finish looks for policies in the text, unless the text
//     belongs to another program.
func (r reader) open(text []byte) *documentReader {
	begin := time.Now()
	d := &documentReader{reader: r, text: text, result: &result{}}
	if c := d.encryptedText(nil); c != nil {
		d.encrypted(c)
		return d
	}
	value, mistakes := d.decode()
	d.vault = bytes.Contains(text, []byte(vaultStart))
	d.took.parse = time.Since(begin)
	switch object, _ := value.(map[string]any); {
	case value == nil:
		d.unread(mistakes)
	case len(mistakes) == 0:
		d.document(value)
		d.took.validate = time.Since(begin) - d.took.parse
	case d.isForeignDespite(value, mistakes):
		d.addForeign(nil, object)
	default:
		for _, p := range mistakes {
			p.Object = keyOf(object)
			d.fail(p)
		}
		d.closeItems(nil, d.loosely(), d.problems)
	}
	return d
}

// step reads the next object of a list. It returns true if no object is left; then the result is complete. For
// a document that is no list, the first call returns true.
func (d *documentReader) step() (done bool) {
	if d.next < len(d.elements) {
		begin := time.Now()
		d.element(d.next)
		d.next++
		d.took.validate += time.Since(begin)
		return false
	}
	if len(d.problems)+len(d.rejected)+len(d.foreign)+d.unlisted > 0 || d.syntax != nil {
		d.result.beside = &d.remarks
	}
	d.result.plain = d.result.plain && d.isPlain()
	return true
}

// documentReader is a document that is being read. It has the part of the result that is read so far.
type documentReader struct {
	reader
	*result
	remarks
	text  []byte
	root  *yaml.Node
	vault bool // the text has a value that Ansible Vault encrypted
	raw   any  // the value that readLoosely returns for root; nil until loosely is called
	took  readTime

	// If the document is a list, outer is the list, elements are its items, and next is the index of the next item to
	// read.
	outer    map[string]any
	elements []any
	next     int
}

// fail adds an error that already has its line and column, and marks the document as broken. It also sets the
// error's excerpt, unless the text may have secret content (secretive), or is in UTF-16 or binary.
func (d *documentReader) fail(p finding) {
	p.Severity = manifest.Error
	if _, unfit := unfitFile(d.text); !unfit && !secretive(d.text) {
		p.Excerpt = excerpt(d.text, place{p.Line, p.Column, max(1, p.width)})
	}
	d.problems = append(d.problems, p)
	d.broken = true
}

// report adds the problem p of an object, by default an error, with the line and column of p.Field. The
// parameter at is the path of the object in the document. An error marks the document as broken. After
// maxProblems problems, report only counts further ones.
func (d *documentReader) report(at fieldPath, object map[string]any, p manifest.Problem) {
	d.reportAt(at, object, p, find)
}

// reportAt does the same as the method report, but the caller chooses how the line and column of p.Field are found.
// The parameter finder is the function find or the function findKey.
func (d *documentReader) reportAt(at fieldPath, object map[string]any, p manifest.Problem, finder func(*yaml.Node, fieldPath) place) {
	p.Severity = cmp.Or(p.Severity, manifest.Error)
	d.broken = d.broken || p.Severity == manifest.Error
	if len(d.problems) == maxProblems { // no file lists more, and finding a place takes time
		d.unlisted++
		return
	}
	where := finder(d.root, slices.Concat(at, parsePath(p.Field)))
	p.Line, p.Column = where.line, where.column
	p.Object = keyOf(object)
	if d.shows(at, object) {
		p.Excerpt = excerpt(d.text, where)
	}
	d.problems = append(d.problems, finding{Problem: p})
}

// shows reports whether problems may show excerpts of an object. One of these conditions must hold:
//   - The document's text looks like neither a Secret nor a policy with users and password hashes (secretive).
//   - The object is alone in its document and is of a known kind other than Secret, and the text does not look like a
//     policy with users and password hashes (listsUsers).
func (d *documentReader) shows(at fieldPath, object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	harmless := name != "Secret" && kindOf(apischema.FromAPIVersionAndKind(apiVersion, name).GroupKind()) != nil
	return harmless && len(at) == 0 && !listsUsers(d.text) || !secretive(d.text)
}

// document reads value, the content of a document. Content that does not look like a Kubernetes object at all
// (isForeign, isForeignList) belongs to another program: document records it as foreign. Any other content must be
// an object or a List of objects; otherwise document reports a problem. It reads a single object completely. Of a
// List, it only stores the items, and step reads them later.
func (d *documentReader) document(value any) {
	object, ok := value.(map[string]any)
	list, isList := value.([]any)
	if c := d.encryptedText(object); ok && c != nil {
		d.encrypted(c)
		return
	}
	switch {
	case ok && d.isForeign(object), isList && isForeignList(list):
		d.addForeign(nil, object)
		if metadata, _ := object["metadata"].(map[string]any); metadata["name"] != nil {
			where := placeOf(d.root)
			d.doubt = []finding{{Problem: missingField("apiVersion", object), width: where.width}}
			d.doubt[0].Line, d.doubt[0].Column = where.line, where.column
		}
		return
	case !ok && !isList && isForeignText(d.text):
		d.addForeign(nil, nil)
		d.doubt = []finding{d.notAnObject(value)}
		return
	case !ok:
		d.fail(d.notAnObject(value))
		d.closeItems(nil, d.loosely(), d.problems)
		return
	}
	items, isList := object["items"].([]any)
	if name, _ := object["kind"].(string); isList && strings.HasSuffix(name, "List") {
		d.outer, d.elements = object, items
	} else if p, wrong := wrongList(object); wrong {
		d.report(nil, object, p)
		d.closeItems(nil, d.loosely(), d.problems)
	} else {
		d.object(nil, object)
	}
}

// object reads an object. The parameter at is the object's path in the document. If the reading panics, only
// this object is invalid.
func (d *documentReader) object(at fieldPath, object map[string]any) {
	defer func() {
		if recover() != nil {
			d.mistaken(at, object, PanickedAt(maxMistakePlaces))
		}
	}()
	d.readObject(at, object)
}

// readObject validates an object. The parameter at is the object's path in the document. The kind decides first:
//   - An object of another program's kind becomes foreign. An object of a kind that gatefold knows and does not
//     serve is only reported (notServed).
//   - If apiVersion or kind is missing, invalid or probably misspelt, readObject reports a problem. If the object was
//     probably meant as a policy, the policy is recorded, so that its targets answer an error (see closeItems).
//   - A valid object of a kind that gatefold reads becomes an item of the result. So does an object whose only
//     mistake is duplicate listeners (see twinRules). Any other object becomes a rejectedObject.
func (d *documentReader) readObject(at fieldPath, object map[string]any) {
	d.renameListenerSets(at, object)
	known := len(d.problems)
	gvk, ok := d.identify(at, object)
	if !ok {
		if len(d.problems) > known || d.unlisted > 0 {
			d.closeItems(at, d.valueAt(at), d.problems[known:])
		}
		return
	}
	k := kindOf(gvk.GroupKind())
	d.dropNamespace(at, object, k)
	sound := true
	check := d.schemas.Check
	if d.sound && !hasTwins(object) {
		check = d.schemas.Recheck
	}
	findings := d.sealedValues(at, d.nameVariables(at, object, check(gvk, object)))
	for _, f := range findings {
		p := manifest.Problem{Code: f.Code, Severity: manifest.Error, Field: f.Field, Message: f.Message, Hint: f.Hint}
		if f.Warning {
			p.Severity = manifest.Warning
		}
		sound = sound && f.Warning
		where := find
		if f.OfKey() {
			where = findKey
		}
		d.reportAt(at, object, p, where)
	}
	twins := onlyTwins(keyOf(object), findings)
	if !sound && !twins {
		d.reject(at, object, k, findings, d.problems[known:])
		return
	}
	var part *partial
	if alone := d.alone(at, object); len(at) > 0 || alone != nil {
		part = &partial{at, alone}
	}
	k.settleNamespace(object)
	typed, canonical, err := k.typed(object)
	if err != nil {
		p := manifest.Problem{Code: "InvalidValue", Message: k.name + " cannot be read: " + err.Error()}
		d.report(at, object, p)
		d.reject(at, object, k, []schema.Finding{{Code: p.Code, Message: p.Message}}, d.problems[known:])
		return
	}
	d.plain = plainText(canonical)
	d.items = append(d.items, item{d.sharer.object(typed), d.nameAt(at), twins, part})
}

// nameAt returns the place (line and column) of an object's name. The parameter at is the object's path in the
// document. If the object has no name, nameAt returns the place of metadata, or of the object if metadata is
// missing too.
func (d *documentReader) nameAt(at fieldPath) place {
	return find(d.root, slices.Concat(at, parsePath("metadata.name")))
}

// identify returns the object's kind. ok is false if apiVersion or kind is missing, invalid or not in the table
// kinds. Then identify has reported a problem, or has recorded the object as foreign.
func (d *documentReader) identify(at fieldPath, object map[string]any) (gvk apischema.GroupVersionKind, ok bool) {
	for _, field := range []string{"apiVersion", "kind"} {
		if text, isText := object[field].(string); !isText || text == "" {
			d.report(at, object, missingField(field, object))
			return gvk, false
		}
	}
	gv, err := apischema.ParseGroupVersion(object["apiVersion"].(string))
	if err != nil {
		d.report(at, object, manifest.Problem{
			Code: "UnknownVersion", Field: "apiVersion",
			Message: quote(object["apiVersion"].(string)) + " is not of the form group/version",
		})
		return gvk, false
	}
	gvk = gv.WithKind(object["kind"].(string))
	if k := kindOf(gvk.GroupKind()); k != nil && slices.Contains(k.versions, gv.Version) {
		return gvk, true
	}
	if k, known := d.schemas.KindNotServed(gvk.GroupKind()); known && (!k.Closes || k.Of == "" || mayHaveTargets(d.written(at))) {
		d.notServed(at, object, k)
	} else if p, wrong := unknownKind(gvk); wrong {
		d.report(at, object, p)
	} else if like := d.meantToClose(at, object); like != nil {
		d.report(at, object, manifest.Problem{
			Code: "UnknownKind", Field: "kind", Message: "there is no kind " + quote(gvk.Kind) + " in " + quote(gvk.GroupVersion().String()),
			Hint: "did you mean kind: " + like.Kind + "?",
		})
	} else {
		d.addForeign(at, object)
		d.closePlugin(at, gvk.GroupKind(), object)
	}
	return gvk, false
}

// missingField returns the problem of an object whose apiVersion or kind is missing, empty or not a text. field is
// the name of that field.
func missingField(field string, object map[string]any) manifest.Problem {
	p := manifest.Problem{Code: "RequiredField", Field: field, Message: "the object has no " + field}
	if value := object[field]; value == "" {
		p.Message = field + " is empty"
	} else if value != nil {
		p.Message = field + " is " + describe(value) + ", wants text"
	}
	if field == "kind" {
		p.Hint = "write what the object is, such as kind: HTTPRoute"
		return p
	}
	p.Hint = "write the group and version of the kind, such as apiVersion: gateway.networking.k8s.io/v1"
	if misspelt := misspeltHead(object); misspelt != "" {
		p.Hint = "write apiVersion in place of " + quote(misspelt)
		return p
	}
	name, _ := object["kind"].(string)
	for _, k := range kinds {
		if k.name == name {
			p.Hint = "write apiVersion: " + k.apiVersions()[0]
		}
	}
	return p
}

// dropNamespace removes the namespace of an object of a cluster-scoped kind, and reports a warning.
func (d *documentReader) dropNamespace(at fieldPath, object map[string]any, k *kind) {
	metadata, _ := object["metadata"].(map[string]any)
	if !k.cluster || metadata["namespace"] == nil {
		return
	}
	delete(metadata, "namespace")
	d.report(at, object, manifest.Problem{
		Code: "NamespaceIgnored", Severity: manifest.Warning, Field: "metadata.namespace",
		Message: "a " + k.name + " belongs to no namespace", Hint: "remove metadata.namespace",
	})
}

// settleNamespace sets the namespace "default" if a valid object of a namespaced kind has none.
func (k *kind) settleNamespace(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok && !k.cluster && textOf(metadata["namespace"]) == "" {
		metadata["namespace"] = metav1.NamespaceDefault
	}
}

// typed converts a validated object to a manifest.Object. It first sets the object's apiVersion to the first
// version of the kind. The result canonical is the JSON of the changed object, and the Hash of o is the hash of
// canonical. So an object has the same Hash in each apiVersion. typed returns an error if the object does not fit
// the Go type of its kind.
func (k *kind) typed(object map[string]any) (o *manifest.Object, canonical []byte, err error) {
	object["apiVersion"] = k.apiVersions()[0]
	canonical, err = json.Marshal(object) // Marshal sorts keys
	if err != nil {
		return nil, nil, err
	}
	value := k.new()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, value); err != nil {
		return nil, nil, err
	}
	return &manifest.Object{Key: keyOf(object), Hash: sha256.Sum256(canonical), Value: value}, canonical, nil
}

// alone returns the text of a validated object for the saved state, if the document itself must not be saved.
// That is the case for an item of a list. Without Options.SaveSecrets, it is also the case for a document that
// may contain a Secret or users, even in a comment. For any other document, or if nothing is saved, alone
// returns nil.
func (d *documentReader) alone(at fieldPath, object map[string]any) []byte {
	if !d.save || len(at) == 0 && (d.secrets || !secretive(d.text)) {
		return nil
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil // typed reports the same error
	}
	return text
}
