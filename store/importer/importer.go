// Package importer converts the configuration of other programs into files for a folder that gatefold serves.
// It imports objects of a cluster, Ingresses for ingress-nginx, and dynamic configuration files of Traefik. Its
// functions take values and return files and verdicts. They write nothing.
//
// The import never removes protection. If gatefold cannot express a field or object that may protect requests,
// these requests fail closed: their rule remains, and answers 500 or 403. So no other rule gets the requests.
// If that is not possible, the Result is Blocked, and no file may be written.
package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store"
)

// Class is what the import did with a field or an object.
type Class string

// The classes, from the worst to the best.
const (
	Refused   Class = "refused"   // gatefold cannot express it
	Different Class = "different" // it works in another way, see Verdict.Message
	Same      Class = "same"      // it works as before
)

// Verdict is what the import did with an object, or with some of its fields.
type Verdict struct {
	Class Class `json:"verdict"`
	// Protects is true if the Class is Refused, and the field or object protects something, or may do so.
	Protects bool `json:"protects"`
	// File and Line are the place of the first of the Fields, or where the object begins. Line counts from 1.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Object is KIND/NAMESPACE/NAME, or KIND/NAME without a namespace. In a file of Traefik it is router/NAME,
	// service/NAME and so on.
	Object string `json:"object,omitempty"`
	// Fields are paths such as spec.rules[0].host; fields below a path are included. It is empty if the verdict is
	// about the whole object.
	Fields []string `json:"fields,omitempty"`
	// Message is what the import did. Hint is what to do, "" if nothing.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// File is a file to be written.
type File struct {
	// Path is relative, with slashes. Each segment is a DNS name or the name of a key.
	Path    string
	Content []byte
	// Secret is true if the file belongs in the folder of Secrets.
	Secret bool
}

// Result is the result of an import.
type Result struct {
	Verdicts []Verdict
	Files    []File
	// Blocked is true if no file may be written: something in the input may protect requests, and the import
	// cannot tell which requests.
	Blocked bool
}

// Input is one document of a file.
type Input struct {
	File  string // the name of the file, for verdicts
	Value any    // decoded JSON
	// source is the document, for the lines of fields.
	source *store.Value
}

// at returns the place of the value at a path of the document.
func (in Input) at(path string) place { return place{in.File, in.source, path} }

// place is where an object is in the input: the file, the document, and the path of the object in the document. The
// path is "" if the object is the whole document. The place of an object that import adds is zero.
type place struct {
	file   string
	source *store.Value
	path   string
}

// below returns the place of a field of the object at p.
func (p place) below(field string) place {
	return place{p.file, p.source, strings.Trim(p.path+"."+field, ".")}
}

// line returns the line of the first of the fields of the object at p, or the line where the object begins without
// fields. It returns 0 for an object that import adds.
func (p place) line(fields []string) int {
	if p.source == nil {
		return 0
	}
	field := p.path
	if len(fields) > 0 {
		field = strings.Trim(field+"."+fields[0], ".")
	}
	return p.source.LineOf(field)
}

// report collects the verdicts of an import. If blocked is true, no file may be written (Result.Blocked).
type report struct {
	verdicts []Verdict
	blocked  bool
}

// add appends a verdict and returns a pointer to the verdict, for example to set the Hint. The pointer is valid
// until the next call of add.
func (r *report) add(class Class, at place, object string, message string, fields ...string) *Verdict {
	r.verdicts = append(r.verdicts, Verdict{Class: class, File: at.file, Line: at.line(fields), Object: object, Fields: fields, Message: message})
	return &r.verdicts[len(r.verdicts)-1]
}

// protecting adds a verdict about something that may protect requests and that gatefold cannot express. The
// verdict has the class Refused, and its field Protects is true. protecting does not change how requests are
// answered: the caller must also make them fail closed, or block the import.
func (r *report) protecting(at place, object, message, hint string, fields ...string) {
	v := r.add(Refused, at, object, message, fields...)
	v.Protects, v.Hint = true, hint
}

// block blocks the import: Result then returns no files. It also adds a verdict, as r.protecting does.
func (r *report) block(at place, object, message, hint string, fields ...string) {
	r.blocked = true
	r.protecting(at, object, message, hint, fields...)
}

// sorted returns the verdicts in this order: refused ones with Protects, other refused ones, different, same.
// Verdicts of the same rank are sorted by file, line and object.
func (r *report) sorted() []Verdict {
	rank := map[Class]int{Refused: 1, Different: 2, Same: 3}
	order := func(v Verdict) int {
		if v.Class == Refused && v.Protects {
			return 0
		}
		return rank[v.Class]
	}
	all := slices.Clone(r.verdicts)
	slices.SortStableFunc(all, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Object, b.Object))
	})
	return all
}

// Count returns how many verdicts there are of each class.
func Count(verdicts []Verdict) map[Class]int {
	n := map[Class]int{}
	for _, v := range verdicts {
		n[v.Class]++
	}
	return n
}

// Covers reports whether a verdict is about a leaf of an object. A verdict without Fields is about all leaves.
// Otherwise one of the Fields must be the leaf, or be above it.
func (v Verdict) Covers(object, leaf string) bool {
	if v.Object != object {
		return false
	}
	return len(v.Fields) == 0 || slices.ContainsFunc(v.Fields, func(field string) bool { return within(leaf, field) })
}

// within reports whether the path leaf is the same as the path field, or lies below that path.
func within(leaf, field string) bool {
	rest, ok := strings.CutPrefix(leaf, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Leaves calls visit with the path and value of each leaf of a document. A leaf is an empty list, an empty object,
// or a value that is neither a list nor an object.
func Leaves(value any, visit func(path string, value any)) { leaves("", value, visit) }

// leaves calls visit for each leaf of value. The parameter at is the path of value.
func leaves(at string, value any, visit func(path string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			leaves(join(at, key), v[key], visit)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i := range v {
			leaves(fmt.Sprintf("%s[%d]", at, i), v[i], visit)
		}
		if len(v) > 0 {
			return
		}
	}
	visit(at, value)
}

// join returns the path of a field. The parameter key is the field's name, and the parameter at is the path of the
// object that has the field. A key that is empty or contains dots or brackets is written in brackets.
func join(at, key string) string {
	switch {
	case key == "" || strings.ContainsAny(key, ".[]"):
		return at + "[" + key + "]"
	case at == "":
		return key
	}
	return at + "." + key
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// text returns value if it is a string. It returns "" for all other values.
func text(value any) string {
	s, _ := value.(string)
	return s
}

// at returns the value at a path of keys inside value, or nil if the path does not exist.
func at(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// list returns value if it is a list. It returns nil for all other values.
func list(value any) []any {
	items, _ := value.([]any)
	return items
}

// marshal returns an object as YAML.
func marshal(object map[string]any) []byte {
	content, err := yaml.Marshal(object)
	if err != nil {
		panic(err) // it cannot fail: the object is decoded JSON
	}
	return content
}

// plainName reports whether a name can safely be a segment of a file's path: it has at most 253 characters, only
// those of DNS names, does not begin with a dot or hyphen, and is not empty.
func plainName(name string) bool {
	if name == "" || len(name) > 253 || name[0] == '.' || name[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}
