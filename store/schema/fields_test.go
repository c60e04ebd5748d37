package schema

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// TestFieldsReference compares docs/reference/fields.md with the embedded CRDs; UPDATE=1
// writes it.
func TestFieldsReference(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Fields\n\nEvery field that the schemas know, from the CRDs that gatefold checks objects with. " +
		"[Kinds and fields](kinds.md) says\nwhich of them are served; a field that is not served is the problem " +
		"[`NotServed`](problems.md#notserved) or [`UnsupportedValue`](problems.md#unsupportedvalue).\nA field in bold is required. `[]` is an item of a list, `{}` a value of a mapping.\n" +
		"*gatefold only* is what kgateway 2.5 does not have: a cluster refuses it, and\n" +
		"[`gatefold validate --for kgateway-2.5`](../guides/validate.md#objects-that-are-for-a-cluster-too) names it in your files.\n")
	other, err := FindKgateway("kgateway-2.5")
	if err != nil {
		t.Fatal(err)
	}
	all := crdKinds()
	slices.SortFunc(all, func(a, b *kind) int { return strings.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind) })
	for _, k := range all {
		newest := k.crd[k.versions[0]].read()
		schema := internalSchema(newest)
		if k.patch != nil {
			k.patch(schema)
		}
		fmt.Fprintf(&text, "\n## %s\n\n`apiVersion: %s/%s`\n\n| field | type | default | meaning |\n|---|---|---|---|\n", k.Kind, k.Group, k.versions[0])
		spec := schema.Properties["spec"]
		var there *node
		if other.checkers[k.GroupKind] != nil {
			there = other.checkers[k.GroupKind]().root
		}
		page := fieldsOfKind{kgateway: there, first: map[string]string{}}
		text.WriteString(page.rows("spec", &spec))
	}
	page := filepath.Join("..", "..", "docs", "reference", "fields.md")
	got, err := os.ReadFile(page)
	if err == nil && string(got) == text.String() {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatal("docs/reference/fields.md is not up to date: UPDATE=1 go test ./store/schema -run TestFieldsReference writes it")
	}
	if err := os.WriteFile(page, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fieldsOfKind writes the fields of one kind. first has the path of each group of fields by its rows: a group that is there
// twice is written once.
type fieldsOfKind struct {
	kgateway *node // the schema that kgateway has for the kind, or nil
	first    map[string]string
}

// rows returns a row for each field below a schema.
func (k *fieldsOfKind) rows(path string, s *apiextensions.JSONSchemaProps) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		at := path + "." + name
		shown := "`" + at + "`"
		if slices.Contains(s.Required, name) {
			shown = "**" + shown + "**"
		}
		value := ""
		if field.Default != nil {
			value = fmt.Sprintf("`%v`", *field.Default)
		}
		meaning := firstSentence(field.Description) + onlyHereWords(&field, at, k.kgateway)
		inner := &field
		for {
			switch {
			case inner.Items != nil && inner.Items.Schema != nil:
				inner, at = inner.Items.Schema, at+"[]"
				continue
			case inner.AdditionalProperties != nil && inner.AdditionalProperties.Schema != nil:
				inner, at = inner.AdditionalProperties.Schema, at+"{}"
				continue
			}
			break
		}
		below := k.rows(at, inner)
		if strings.Count(below, "\n") > 3 {
			group := strings.ReplaceAll(below, "`"+at+".", "`.")
			if first := k.first[group]; first != "" {
				meaning, below = meaning+" Its fields are those of `"+first+"`.", ""
			} else {
				k.first[group] = at
			}
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n%s", shown, typeOf(&field), value, meaning, below)
	}
	return text.String()
}

// onlyHereWords returns the words for a field that kgateway does not have, or for values that it does not take.
func onlyHereWords(field *apiextensions.JSONSchemaProps, path string, there *node) string {
	if there == nil {
		return ""
	}
	other := there.at(path)
	if other == nil {
		return " *gatefold only*"
	}
	var only []string
	for _, value := range field.Enum {
		if other.limits.Enum != nil && !other.allows(value) {
			only = append(only, fmt.Sprintf("`%v`", value))
		}
	}
	if only == nil {
		return ""
	}
	return " *gatefold only:* " + strings.Join(only, ", ")
}

// typeOf returns the type of a field, or its values if it has few.
func typeOf(s *apiextensions.JSONSchemaProps) string {
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("`%v`", v))
		}
		return strings.Join(values, ", ")
	}
	if s.Items != nil && s.Items.Schema != nil {
		return "list of " + typeOf(s.Items.Schema)
	}
	return cmp.Or(s.Type, "any")
}

// firstSentence returns the beginning of a description, fit for a cell of a table.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "](", "] (").Replace(text)
}
