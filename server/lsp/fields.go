package lsp

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gatefold/gatefold/server/lsp/sketch"
	"github.com/gatefold/gatefold/store/schema"
)

// catalog has the JSON Schema of each kind; it is made when it is first asked for.
type catalog struct{ all func() schema.JSONSchema }

func newCatalog() *catalog {
	return &catalog{sync.OnceValue(func() schema.JSONSchema {
		set, err := schema.Load()
		if err != nil {
			return schema.JSONSchema{} // store.New says why
		}
		return set.JSONSchema()
	})}
}

// of returns the schema of a kind, nil for one that gatefold does not read.
func (c *catalog) of(apiVersion, kind string) schema.JSONSchema {
	definitions, _ := c.all()["definitions"].(schema.JSONSchema)
	found, _ := definitions[strings.ReplaceAll(apiVersion+"/"+kind, "/", ".")].(schema.JSONSchema)
	return found
}

// kinds returns each apiVersion and kind, sorted by kind.
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

// field returns a field of an object's schema, nil for none.
func field(s schema.JSONSchema, name string) schema.JSONSchema {
	fields, _ := s["properties"].(schema.JSONSchema)
	found, _ := fields[name].(schema.JSONSchema)
	if found == nil {
		found, _ = s["additionalProperties"].(schema.JSONSchema)
	}
	return found
}

// follow returns the schema at the end of a path, nil for none.
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

// pathText writes a path as spec.rules[0].name.
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

// typeOf names the type of a field.
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

// required reports whether an object must have a field.
func required(s schema.JSONSchema, name string) bool {
	for _, one := range list(s, "required") {
		if one == name {
			return true
		}
	}
	return false
}

// list returns texts of a schema.
func list(s schema.JSONSchema, key string) (texts []string) {
	all, _ := s[key].([]any)
	for _, one := range all {
		texts = append(texts, fmt.Sprint(one))
	}
	return texts
}
