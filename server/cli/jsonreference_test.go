package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/explain"
)

// jsonRoot is a value that is printed as JSON, and where.
type jsonRoot struct {
	where string
	typ   reflect.Type
}

func jsonRoots() []jsonRoot {
	return []jsonRoot{
		{"`gatefold validate -o json`", reflect.TypeFor[report]()},
		{"`gatefold explain -o json`, `GET /api/v1/explain`", reflect.TypeFor[explain.Report]()},
		{"`gatefold tree -o json`, `GET /api/v1/tree`: a list", reflect.TypeFor[explain.TreeNode]()},
		{"`gatefold plan -o json`", reflect.TypeFor[planned]()},
		{"`gatefold test -o json`", reflect.TypeFor[expect.Report]()},
		{"`gatefold import -o json`", reflect.TypeFor[importReport]()},
		{"`gatefold translate -o json`: a list", reflect.TypeFor[typeDocument]()},
		{"`gatefold version -o json`", reflect.TypeFor[build]()},
		{"`gatefold status -o json`", reflect.TypeFor[statusList]()},
		{"`GET /api/v1/status`", reflect.TypeFor[board.List[board.Object[any]]]()},
		{"`GET /api/v1/problems`, and with its problems `gatefold status --problems -o json`", reflect.TypeFor[admin.ProblemList]()},
		{"`gatefold reload`, `POST /api/v1/reload`", reflect.TypeFor[admin.Reloaded]()},
		{"`GET /api/v1/envoys`", reflect.TypeFor[admin.EnvoyList]()},
		{"`GET /api/v1/revisions`", reflect.TypeFor[admin.RevisionList]()},
		{"`GET /api/v1/certificates`", reflect.TypeFor[admin.CertificateList]()},
		{"`GET /api/v1/transport`", reflect.TypeFor[admin.Transport]()},
		{"`GET /api/v1/xds`", reflect.TypeFor[admin.XDS]()},
		{"`GET /api/v1/places`", reflect.TypeFor[admin.PlaceList]()},
	}
}

// TestJSONReference compares docs/reference/json.md with the types that are printed as JSON.
func TestJSONReference(t *testing.T) {
	page := &jsonPage{t: t, known: map[string]bool{}, comments: map[string]map[string]string{}}
	page.out.WriteString("# Keys of JSON\n\nEvery key of what commands and admin pages print as JSON, from the types in the code. " +
		"[json.md](../json.md) has examples, and says what is a contract.\nA key with \"always\" is never left out; the others are absent if they are empty, zero or false.\n" +
		"`-o yaml` has the same keys.\n\n| printed by | type |\n|---|---|\n")
	for _, root := range jsonRoots() {
		fmt.Fprintf(&page.out, "| %s | %s |\n", root.where, page.name(root.typ))
	}
	for len(page.rest) > 0 {
		typ := page.rest[0]
		page.rest = page.rest[1:]
		page.section(typ)
	}
	compareReference(t, "json.md", page.out.String())
}

// jsonPage writes types, each once.
type jsonPage struct {
	t        *testing.T
	out      strings.Builder
	known    map[string]bool // titles
	rest     []reflect.Type
	comments map[string]map[string]string // by the path of a package, then "Type" or "Type.Field"
}

// name returns what a type is in words, and has a struct of ours described.
func (p *jsonPage) name(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return "time (RFC 3339)"
	case typ.PkgPath() != "" && !strings.HasPrefix(typ.PkgPath(), module):
		return "`" + typ.String() + "`"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return p.name(typ.Elem())
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return "any"
		}
		return "list of " + p.name(typ.Elem())
	case reflect.Map:
		return "object of " + p.name(typ.Elem())
	case reflect.Struct:
		title := titleOf(typ)
		if !p.known[title] {
			p.known[title] = true
			p.rest = append(p.rest, typ)
		}
		return fmt.Sprintf("[%s](#%s)", title, strings.ToLower(strings.NewReplacer(".", "", " ", "-").Replace(title)))
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Interface:
		return "any"
	}
	return "number"
}

const module = "github.com/gatefold/gatefold/"

// titleOf returns "package.Type", without parameters of the type.
func titleOf(typ reflect.Type) string {
	name, _, _ := strings.Cut(typ.Name(), "[")
	return typ.PkgPath()[strings.LastIndexByte(typ.PkgPath(), '/')+1:] + "." + name
}

func (p *jsonPage) section(typ reflect.Type) {
	fmt.Fprintf(&p.out, "\n## %s\n\n", titleOf(typ))
	name, _, _ := strings.Cut(typ.Name(), "[")
	if text := p.comment(typ, name); text != "" {
		fmt.Fprintf(&p.out, "%s\n\n", text)
	}
	p.out.WriteString("| key | value | | what it says |\n|---|---|---|---|\n")
	p.fields(typ)
}

// fields writes the keys of a struct, with those of the structs that are embedded in it.
func (p *jsonPage) fields(typ reflect.Type) {
	owner, _, _ := strings.Cut(typ.Name(), "[")
	last, first := "", "" // a comment that may be about several fields, and the key that has it
	for i := range typ.NumField() {
		field := typ.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case key == "-" || !field.IsExported():
			continue
		case field.Anonymous && key == "" && strings.HasPrefix(inner.PkgPath(), module):
			p.fields(inner)
			continue
		case field.Anonymous && key == "": // of Kubernetes, such as apiVersion and kind
			fmt.Fprintf(&p.out, "| | `%s` | | the keys that Kubernetes has there |\n", inner)
			continue
		}
		text := p.comment(typ, owner+"."+field.Name)
		switch {
		case text != "":
			last, first = text, key
		case regexp.MustCompile(`\b` + field.Name + `\b`).MatchString(last):
			text = "see `" + first + "`"
		default:
			text = plainKeys()[key]
		}
		if text == "" {
			p.t.Errorf("%s.%s (%s) has no comment for docs/reference/json.md", typ, field.Name, key)
		}
		always := "always"
		if strings.Contains(options, "omit") {
			always = ""
		}
		fmt.Fprintf(&p.out, "| `%s` | %s | %s | %s |\n", key, p.name(field.Type), always, strings.ReplaceAll(keysFor(typ, text), "|", "\\|"))
	}
}

// keysFor returns a comment with the keys of a struct in place of its fields, in code.
func keysFor(typ reflect.Type, text string) string {
	for i := range typ.NumField() {
		field := typ.Field(i)
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && key != "-" {
			text = regexp.MustCompile(`(^|[\s("])`+field.Name+`\b`).ReplaceAllString(text, "${1}`"+key+"`")
		}
	}
	return text
}

// comment returns what the source says of a type or field.
func (p *jsonPage) comment(typ reflect.Type, name string) string {
	path := typ.PkgPath()
	if p.comments[path] == nil {
		p.comments[path] = p.read(filepath.Join("..", "..", strings.TrimPrefix(path, module)))
	}
	return p.comments[path][name]
}

// read returns the comments of all types of a package and their fields.
func (p *jsonPage) read(dir string) map[string]string {
	out := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		p.t.Fatalf("%s: %v, %d files", dir, err, len(names))
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			p.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			group, is := n.(*ast.GenDecl)
			if !is || group.Tok != token.TYPE {
				return true
			}
			for _, spec := range group.Specs {
				one := spec.(*ast.TypeSpec)
				out[one.Name.Name] = oneLine(group.Doc.Text() + one.Doc.Text())
				if body, is := one.Type.(*ast.StructType); is {
					addFieldComments(out, one.Name.Name, body)
				}
			}
			return false
		})
	}
	return out
}

// addFieldComments adds the comments of the fields of a type.
func addFieldComments(out map[string]string, name string, body *ast.StructType) {
	for _, field := range body.Fields.List {
		for _, id := range field.Names {
			out[name+"."+id.Name] = oneLine(field.Doc.Text() + " " + field.Comment.Text())
		}
	}
}
