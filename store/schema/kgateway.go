package schema

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// kgatewayFolder has a file of names for each version of kgateway, such as 2.5.txt. The head of a file says how to
// read it.
const kgatewayFolder = "kgateway"

// kgatewayNames is the content of such a file.
type kgatewayNames struct {
	fields []kgatewayField
	keys   []kgatewayKey
}

// kgatewayField is a field of a kind of kgateway, or an item of a list ([]), or a value of a mapping ({}).
type kgatewayField struct {
	kind, path string
	required   bool
	node       *node
}

// kgatewayKey is an annotation, a label or a TLS option that kgateway reads on objects of some kinds.
type kgatewayKey struct {
	list  string // annotation, label or option
	name  string
	kinds []string
}

// readKgateway returns the names of a version of kgateway. It panics for a version that is not known.
func readKgateway(version string) (names kgatewayNames) {
	file := path.Join(kgatewayFolder, version+".txt")
	text, err := crds.ReadFile(file)
	must(err, file)
	kind, types := "", map[string][]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "kind":
			kind = words[1]
		case words[0] == "type":
			types[words[1]] = limitsOf(line)[2:]
		case slices.Contains([]string{"annotation", "label", "option"}, words[0]):
			names.keys = append(names.keys, kgatewayKey{words[0], words[1], words[2:]})
		default:
			field, err := readField(limitsOf(line), types)
			must(err, file+": "+line)
			field.kind = kind
			names.fields = append(names.fields, field)
		}
	}
	return names
}

// roots returns the schema of each kind, without what all kinds have.
func (names kgatewayNames) roots() map[string]*node {
	roots := map[string]*node{}
	for _, f := range names.fields {
		root := roots[f.kind]
		if root == nil {
			root = &node{typ: "object"}
			roots[f.kind] = root
		}
		root.put(f)
	}
	return roots
}

// put adds a field to n, the schema of its kind. What the field is in is there.
func (n *node) put(f kgatewayField) {
	if list, ok := strings.CutSuffix(f.path, "[]"); ok {
		n.at(list).items = f.node
		return
	}
	if mapping, ok := strings.CutSuffix(f.path, "{}"); ok {
		n.at(mapping).values = f.node
		return
	}
	last := strings.LastIndexByte(f.path, '.')
	in, name := n, f.path[last+1:]
	if last > 0 {
		in = n.at(f.path[:last])
	}
	in.add(name, f.node)
	if f.required {
		in.limits.Required = append(in.limits.Required, name)
	}
}

// limitsOf returns the words of a line. A pattern is the last word, and may have blanks.
func limitsOf(line string) []string {
	line, pattern, found := strings.Cut(line, " pattern=")
	words := strings.Fields(line)
	if found {
		words = append(words, "pattern="+pattern)
	}
	return words
}

// readField returns the field that the words of a line describe: its path, its type and its limits. The parameter
// types has the types that the file names.
func readField(words []string, types map[string][]string) (kgatewayField, error) {
	field := kgatewayField{path: words[0], node: &node{}}
	all := words[1:]
	if named := types[words[1]]; named != nil {
		all = slices.Concat(named, words[2:])
	}
	switch typ := all[0]; typ {
	case "any":
		field.node.preserve = true
	case "quantity":
		field.node.intOrString = true
	case "duration":
		field.node.typ, field.node.valid = "string", notDuration
	default:
		field.node.typ = typ
	}
	for _, limit := range all[1:] {
		switch {
		case limit == "required":
			field.required = true
		case all[0] == "duration": // no field of gatefold allows what these limits forbid
		default:
			if err := field.node.limitTo(limit); err != nil {
				return field, err
			}
		}
	}
	return field, nil
}

// limitTo sets one limit of n, written as NAME=VALUE. It returns an error if the name or the value is not one.
func (n *node) limitTo(limit string) (err error) {
	name, text, _ := strings.Cut(limit, "=")
	if name == "pattern" {
		n.limits.Pattern = text
		n.regexp, err = regexp.Compile(text)
		return err
	}
	if name == "enum" {
		for value := range strings.SplitSeq(text, "|") {
			n.limits.Enum = append(n.limits.Enum, structural.JSON{Object: n.scalar(value)})
		}
		return nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	whole, fraction := &number, float64(number)
	switch name {
	case "minimum":
		n.limits.Minimum = &fraction
	case "maximum":
		n.limits.Maximum = &fraction
	case "minLength":
		n.limits.MinLength = whole
	case "maxLength":
		n.limits.MaxLength = whole
	case "minItems":
		n.limits.MinItems = whole
	case "maxItems":
		n.limits.MaxItems = whole
	default:
		return fmt.Errorf("there is no limit %s", name)
	}
	return nil
}

// scalar returns the value that a text stands for in a field of the type of n.
func (n *node) scalar(text string) any {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil && n.typ == "integer" {
		return whole
	}
	return text
}

// durationForm is how kgateway writes durations.
var durationForm = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// notDuration returns what is wrong with a text that is no duration, and "" for one.
func notDuration(text string) string {
	if durationForm.MatchString(text) {
		return ""
	}
	return "is not " + patternWords(durationForm.String())
}
