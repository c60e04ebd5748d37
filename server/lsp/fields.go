package lsp

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gatefold/gatefold/server/lsp/sketch"
	"github.com/gatefold/gatefold/store/schema"
)

// catalog has the JSON Schema of all kinds. The field all is a function that returns the schema, and creates it on
// the first call.
type catalog struct{ all func() schema.JSONSchema }

// newCatalog returns a catalog. Its schema is empty if the CRDs cannot be loaded.
func newCatalog() *catalog {
	return &catalog{sync.OnceValue(func() schema.JSONSchema {
		set, err := schema.Load()
		if err != nil {
			return schema.JSONSchema{} // store.New reports the error
		}
		return set.JSONSchema()
	})}
}

// of returns the schema of a kind. It returns nil for a kind that gatefold does not read.
func (c *catalog) of(apiVersion, kind string) schema.JSONSchema {
	definitions, _ := c.all()["definitions"].(schema.JSONSchema)
	found, _ := definitions[strings.ReplaceAll(apiVersion+"/"+kind, "/", ".")].(schema.JSONSchema)
	return found
}

// kinds returns the apiVersion and kind of every kind that gatefold reads, sorted by kind.
func (c *catalog) kinds() (all [][2]string) {
	cases, _ := c.all()["allOf"].([]any)
	for _, one := range cases {
		condition, _ := one.(schema.JSONSchema)["if"].(schema.JSONSchema)
		wants, _ := condition["properties"].(schema.JSONSchema)
		version, _ := wants["apiVersion"].(schema.JSONSchema)["const"].(string)
		kind, _ := wants["kind"].(schema.JSONSchema)["const"].(string)
		all = append(all, [2]string{version, kind})
	}
	return all
}

// field returns the schema of a field of an object. For a field that is not named in the object's schema, it
// returns the schema for additional fields, or nil if there is no such schema.
func field(s schema.JSONSchema, name string) schema.JSONSchema {
	fields, _ := s["properties"].(schema.JSONSchema)
	found, _ := fields[name].(schema.JSONSchema)
	if found == nil {
		found, _ = s["additionalProperties"].(schema.JSONSchema)
	}
	return found
}

// follow returns the schema of the value at the end of a path. It returns nil if the schema has no such path.
func follow(s schema.JSONSchema, path []sketch.Step) schema.JSONSchema {
	for _, step := range path {
		if step.In.Kind == sketch.Mapping {
			s = field(s, step.Key)
		} else {
			s, _ = s["items"].(schema.JSONSchema)
		}
	}
	return s
}

// pathText returns a path as text, such as spec.rules[0].name.
func pathText(path []sketch.Step) string {
	var b strings.Builder
	for _, step := range path {
		switch {
		case step.In.Kind == sketch.Sequence:
			fmt.Fprintf(&b, "[%d]", step.Index)
		case b.Len() > 0:
			b.WriteString("." + step.Key)
		default:
			b.WriteString(step.Key)
		}
	}
	return b.String()
}

// typeOf returns the type of a field in words, such as "array of string". It returns "value" if the schema has
// no type.
func typeOf(s schema.JSONSchema) string {
	switch t := s["type"].(type) {
	case string:
		if items, _ := s["items"].(schema.JSONSchema); t == "array" && items != nil {
			return "array of " + typeOf(items)
		}
		return t
	case []any:
		var names []string
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
		return strings.Join(names, " or ")
	}
	return "value"
}

// required reports whether the schema requires a field.
func required(s schema.JSONSchema, name string) bool {
	for _, one := range list(s, "required") {
		if one == name {
			return true
		}
	}
	return false
}

// list returns the texts in a list of a schema, such as "enum". It returns nil if the schema has no such list.
func list(s schema.JSONSchema, key string) (texts []string) {
	all, _ := s[key].([]any)
	for _, one := range all {
		texts = append(texts, fmt.Sprint(one))
	}
	return texts
}
