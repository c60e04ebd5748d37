// Package importer turns configuration of other programs into a folder that gatefold serves:
// objects of a cluster, Ingresses for ingress-nginx, and dynamic files of Traefik. It reads values and returns files and
// verdicts; it writes nothing and knows no folder.
//
// Its first promise is that nothing that was closed becomes open. A field or object that may
// protect and that gatefold cannot express closes what it protects: the rule stays and answers
// 500 or 403, so that no other rule takes its requests. Where that cannot be said, the Result
// is Blocked: no file may be written.
package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Class is what happened to a field or an object.
type Class string

// The classes, from the worst to the best.
const (
	Refused   Class = "refused"   // it cannot be expressed
	Different Class = "different" // it works in another way, which the message says
	Same      Class = "same"      // it works as before
)

// Verdict is what happened to an object, or to some of its fields.
type Verdict struct {
	Class Class `json:"verdict"`
	// Protects is true if what is refused protects something, or may.
	Protects bool `json:"protects"`
	// File and Line are where the document begins that has the object; Line counts from 1.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Object is KIND/NAMESPACE/NAME, or KIND/NAME without a namespace; of Traefik, router/NAME
	// and alike.
	Object string `json:"object,omitempty"`
	// Fields are paths such as spec.rules[0].host, with all that is below them; none for the
	// whole object.
	Fields []string `json:"fields,omitempty"`
	// Message says what became of it; Hint says what to do, or is empty.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// File is a file to be written.
type File struct {
	// Path is relative, with slashes; each part is a plain name.
	Path    string
	Content []byte
	// Secret is true if the file belongs into the folder of Secrets.
	Secret bool
}

// Result is the result of an import.
type Result struct {
	Verdicts []Verdict
	Files    []File
	// Blocked is true if no file may be written: something may protect what cannot be told.
	Blocked bool
}

// Input is a document of a file.
type Input struct {
	File  string
	Line  int
	Value any
}

// place is where an object is written.
type place struct {
	file string
	line int
}

// report collects verdicts.
type report struct {
	verdicts []Verdict
	blocked  bool
}

func (r *report) add(class Class, at place, object string, message string, fields ...string) *Verdict {
	r.verdicts = append(r.verdicts, Verdict{Class: class, File: at.file, Line: at.line, Object: object, Fields: fields, Message: message})
	return &r.verdicts[len(r.verdicts)-1]
}

// protecting adds a verdict about something that may protect and that cannot be expressed.
func (r *report) protecting(at place, object, message, hint string, fields ...string) {
	v := r.add(Refused, at, object, message, fields...)
	v.Protects, v.Hint = true, hint
}

// block is protecting for something that cannot be replaced by closing: no file may be written.
func (r *report) block(at place, object, message, hint string, fields ...string) {
	r.blocked = true
	r.protecting(at, object, message, hint, fields...)
}

// sorted returns the verdicts in the order: refused protection, refused, different, same.
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

// Count returns how many verdicts are of each class.
func Count(verdicts []Verdict) map[Class]int {
	n := map[Class]int{}
	for _, v := range verdicts {
		n[v.Class]++
	}
	return n
}

// Covers reports whether a verdict is about a leaf of an object. It is if it names the whole
// object, the leaf, or a field above the leaf.
func (v Verdict) Covers(object, leaf string) bool {
	if v.Object != object {
		return false
	}
	return len(v.Fields) == 0 || slices.ContainsFunc(v.Fields, func(field string) bool { return within(leaf, field) })
}

// within reports whether the path leaf is field or below it.
func within(leaf, field string) bool {
	rest, ok := strings.CutPrefix(leaf, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Leaves calls visit with the path of each value in a document that has none below it.
func Leaves(value any, visit func(path string, value any)) { leaves("", value, visit) }

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

// join adds a key to a path, in brackets if it is no plain name.
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

// text returns a value that is a text, "" for other values.
func text(value any) string {
	s, _ := value.(string)
	return s
}

// at returns the value at a path of keys, nil if there is none.
func at(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// list returns a value that is a list, nil for other values.
func list(value any) []any {
	items, _ := value.([]any)
	return items
}

// marshal returns an object as YAML.
func marshal(object map[string]any) []byte {
	content, err := yaml.Marshal(object)
	if err != nil {
		panic(err) // it is decoded JSON
	}
	return content
}

// plainName reports whether a text may be a part of a path: a DNS name, as objects have.
func plainName(name string) bool {
	if name == "" || len(name) > 253 || name[0] == '.' || name[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}
