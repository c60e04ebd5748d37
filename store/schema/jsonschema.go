package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// JSONSchema is a JSON Schema, draft 7, for editors.
type JSONSchema map[string]any

// JSONSchema returns one JSON Schema for objects of the given kinds, or for all kinds that gatefold reads if
// kinds is empty. The schema has types, allowed values and required fields, and rejects unknown fields. CEL
// rules are only in its descriptions. Objects of all other kinds are valid, because a folder may have objects
// that gatefold does not read.
func (s *Set) JSONSchema(kinds ...schema.GroupKind) JSONSchema {
	definitions, cases, versions, names := JSONSchema{}, []any{}, map[string]bool{}, map[string]bool{}
	for _, gk := range slices.SortedFunc(maps.Keys(s.kinds), compareGroupKinds) {
		if len(kinds) > 0 && !slices.Contains(kinds, gk) {
			continue
		}
		for _, version := range s.kinds[gk].versions {
			of := gk.WithVersion(version)
			name := strings.TrimPrefix(of.GroupVersion().String()+"/"+of.Kind, "/")
			definitions[strings.ReplaceAll(name, "/", ".")] = s.kinds[gk].jsonSchema(version)
			cases = append(cases, JSONSchema{
				"if": JSONSchema{
					"required": []any{"apiVersion", "kind"},
					"properties": JSONSchema{
						"apiVersion": JSONSchema{"const": of.GroupVersion().String()}, "kind": JSONSchema{"const": of.Kind},
					},
				},
				"then": JSONSchema{"$ref": "#/definitions/" + strings.ReplaceAll(name, "/", ".")},
			})
			versions[of.GroupVersion().String()], names[of.Kind] = true, true
		}
	}
	return JSONSchema{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"title":   "An object in a folder of gatefold",
		"type":    []any{"object", "null"},
		"properties": JSONSchema{
			"apiVersion": suggested(versions), "kind": suggested(names),
		},
		"allOf":       cases,
		"definitions": definitions,
	}
}

func compareGroupKinds(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) }

// suggested returns a JSON Schema that accepts any string. Editors suggest the keys of the map texts.
func suggested(texts map[string]bool) JSONSchema {
	var all []any
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, text)
	}
	return JSONSchema{"anyOf": []any{JSONSchema{"enum": all}, JSONSchema{"type": "string"}}}
}

// jsonSchema returns the JSON Schema of a version of the kind.
func (k *kind) jsonSchema(version string) JSONSchema {
	var out JSONSchema
	if k.crd == nil {
		out = jsonOfNode(k.core().root)
	} else {
		v := k.crd[version].read()
		props := internalSchema(v)
		if k.patch != nil {
			k.patch(props)
		}
		out = jsonOfProps(props)
		if d := deprecation(v); d != "" {
			out["deprecationMessage"] = d
		}
	}
	fields := out["properties"].(JSONSchema)
	fields["metadata"] = k.jsonMetadata()
	k.described(out)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		out["required"] = appendNew(out["required"], name)
	}
	for _, path := range k.unserved.Fields[k.Kind] {
		why := fieldNotServed + shown(path[strings.LastIndexByte(path, '.')+1:]) + "; gatefold does not serve it: " + k.unserved.Instead[k.Kind][path]
		out.forbid(strings.Split(path, "."), why)
	}
	for path, ignored := range k.unserved.Ignored[k.Kind] {
		if field := out.find(strings.Split(path, ".")); field != nil {
			field.say("gatefold does not serve it: " + ignored.Meaning + "; " + ignored.Instead)
		}
	}
	for path, values := range k.unserved.Values[k.Kind] {
		if field := out.find(strings.Split(path, ".")); field != nil {
			field.say(fmt.Sprintf("kgateway has %v, too; gatefold does not serve that: %s", values, k.unserved.Instead[k.Kind][path]))
		}
	}
	return out
}

// appendNew appends name to list, unless list already has it.
func appendNew(list any, name string) []any {
	all, _ := list.([]any)
	if slices.Contains(all, any(name)) {
		return all
	}
	return append(all, name)
}

// jsonMetadata returns the JSON Schema of metadata for objects of the kind k. The schema describes the
// annotations and labels that gatefold reads on the kind.
func (k *kind) jsonMetadata() JSONSchema {
	out := jsonOfNode(metadataNode(k.GroupKind))
	fields := out["properties"].(JSONSchema)
	for _, a := range Annotations() {
		if !slices.Contains(a.Kinds, k.Kind) {
			continue
		}
		place := "annotations"
		if a.Label {
			place = "labels"
		}
		in := fields[place].(JSONSchema)
		if in["properties"] == nil {
			in["properties"] = JSONSchema{}
		}
		value := JSONSchema{"type": "string", "description": a.Meaning}
		for _, v := range a.Values {
			value["enum"] = appendNew(value["enum"], v)
		}
		in["properties"].(JSONSchema)[a.Name] = value
	}
	return out
}

// say appends a sentence to the description of s, as a new paragraph.
func (s JSONSchema) say(sentence string) {
	if before, _ := s["description"].(string); before != "" {
		sentence = before + "\n\n" + sentence
	}
	s["description"] = sentence
}

// find returns the JSON Schema of the field at a path inside s, or nil if s has no such field. Each element of
// path is the name of a field. An element that ends with [] stands for the items of the list in that field.
func (s JSONSchema) find(path []string) JSONSchema {
	for _, name := range path {
		plain := strings.TrimRight(name, "[]")
		fields, _ := s["properties"].(JSONSchema)
		if s, _ = fields[plain].(JSONSchema); s == nil {
			return nil
		}
		for range strings.Count(name, "[]") {
			if s, _ = s["items"].(JSONSchema); s == nil {
				return nil
			}
		}
	}
	return s
}

// forbid makes the JSON Schema s reject the field at a path. The parameter why says why: editors show it as the
// description of the field and as the error message. If s does not have the parent of the field, forbid does
// nothing.
func (s JSONSchema) forbid(path []string, why string) {
	parent := s.find(path[:len(path)-1])
	if parent == nil {
		return
	}
	if parent["properties"] == nil {
		parent["properties"] = JSONSchema{}
	}
	parent["properties"].(JSONSchema)[path[len(path)-1]] = JSONSchema{
		"description": why, "deprecationMessage": why, "errorMessage": why, "doNotSuggest": true, "not": JSONSchema{},
	}
}

// jsonOfProps converts the schema of a CRD into JSON Schema. The result rejects unknown fields, unless the CRD
// keeps them.
func jsonOfProps(p *apiextensions.JSONSchemaProps) JSONSchema {
	out := jsonOfRules(p)
	if p.Description != "" {
		out["description"] = p.Description
	}
	for _, rule := range p.XValidations {
		if rule.Message != "" {
			out.say("Rule: " + rule.Message)
		}
	}
	if p.Default != nil {
		out["default"] = plainJSON(*p.Default)
	}
	if p.Properties != nil && out["additionalProperties"] == nil && (p.XPreserveUnknownFields == nil || !*p.XPreserveUnknownFields) {
		out["additionalProperties"] = false // an unknown field is an error
	}
	return out
}

// jsonOfRules returns the JSON Schema of the types, limits and fields in a schema. Unlike jsonOfProps it does
// not reject unknown fields, so that it can be used for the parts of allOf, anyOf, oneOf and not.
func jsonOfRules(p *apiextensions.JSONSchemaProps) JSONSchema {
	out := JSONSchema{}
	switch {
	case p.XIntOrString:
		out["type"] = []any{"integer", "string"}
	case p.Type != "" && p.Nullable:
		out["type"] = []any{p.Type, "null"}
	case p.Type != "":
		out["type"] = p.Type
	}
	for name, value := range map[string]any{
		"format": p.Format, "pattern": p.Pattern, "minimum": p.Minimum, "maximum": p.Maximum, "minLength": p.MinLength, "maxLength": p.MaxLength,
		"minItems": p.MinItems, "maxItems": p.MaxItems, "minProperties": p.MinProperties, "maxProperties": p.MaxProperties, "enum": p.Enum, "required": p.Required,
	} {
		if value := plainJSON(value); value != nil && value != "" {
			out[name] = value
		}
	}
	if p.UniqueItems {
		out["uniqueItems"] = true
	}
	if p.Properties != nil {
		fields := JSONSchema{}
		for name, field := range p.Properties {
			fields[name] = jsonOfProps(&field)
		}
		out["properties"] = fields
	}
	if p.Items != nil && p.Items.Schema != nil {
		out["items"] = jsonOfProps(p.Items.Schema)
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = jsonOfProps(p.AdditionalProperties.Schema)
	}
	// oneOf becomes anyOf. Often only a default makes the parts of oneOf exclusive, and JSON Schema does not
	// fill in defaults.
	for name, parts := range map[string][]apiextensions.JSONSchemaProps{"allOf": p.AllOf, "anyOf": slices.Concat(p.AnyOf, p.OneOf)} {
		for i := range parts {
			all, _ := out[name].([]any)
			out[name] = append(all, jsonOfPart(&parts[i]))
		}
	}
	if p.Not != nil {
		out["not"] = jsonOfPart(p.Not)
	}
	return out
}

// jsonOfPart returns the JSON Schema of a part of allOf, anyOf, oneOf or not. Such a part has only some fields
// of the whole schema. So the part and its fields do not reject unknown fields.
func jsonOfPart(p *apiextensions.JSONSchemaProps) JSONSchema {
	out := jsonOfRules(p)
	if p.Properties != nil {
		fields := JSONSchema{}
		for name, field := range p.Properties {
			fields[name] = jsonOfPart(&field)
		}
		out["properties"] = fields
	}
	return out
}

// jsonOfNode returns the JSON Schema of a node that was made from a Go type.
func jsonOfNode(n *node) JSONSchema {
	out := JSONSchema{}
	switch {
	case n.intOrString:
		out["type"] = []any{"integer", "string"}
	case n.typ != "":
		out["type"] = n.typ
	}
	if n.fields != nil {
		fields := JSONSchema{}
		for name, field := range n.fields {
			fields[name] = jsonOfNode(field)
		}
		out["properties"] = fields
		if !n.preserve {
			out["additionalProperties"] = false
		}
	}
	if n.values != nil {
		out["additionalProperties"] = jsonOfNode(n.values)
	}
	if n.items != nil {
		out["items"] = jsonOfNode(n.items)
	}
	if n.def != nil {
		out["default"] = plainJSON(n.def)
	}
	for name, value := range map[string]any{"required": n.limits.Required, "minimum": n.limits.Minimum, "maximum": n.limits.Maximum} {
		if value := plainJSON(value); value != nil {
			out[name] = value
		}
	}
	return out
}

// plainJSON returns a value in the types of decoded JSON. It returns nil for a nil pointer or slice.
func plainJSON(value any) (out any) {
	text, err := json.Marshal(value)
	must(err, "JSON Schema")
	must(json.Unmarshal(text, &out), "JSON Schema")
	return out
}
