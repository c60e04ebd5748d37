package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
)

// The limits of one document (docs/design/safety.md).
const (
	maxDepth      = 64      // depth of mappings and lists inside each other
	maxAliasNodes = 10_000  // values inside aliases, counted again at each use of an anchor
	maxNodes      = 300_000 // values and keys, estimated before parsing: at most 256 MB and 2 s
	maxMistakes   = 20      // YAML mistakes that are listed for one document
)

// errExtraDocument means that the parser finds two documents in a text that should be one. The YAML files of
// the folder were already split at each line that begins with "---" after an LF (splitDocuments). So in their
// texts, the second "---" follows a line break that only YAML knows, such as U+2028.
var errExtraDocument = errors.New("yaml: a second document begins without a line of its own for ---")

// parseYAML returns the root node of one document. It returns nil for an empty document, and errExtraDocument
// for a text with two documents. It accepts duplicate keys and alias bombs; decoder checks for them later. It
// returns a panic of the parser as an error.
func parseYAML(text []byte) (root *yaml.Node, err error) {
	return parseFrom(bytes.NewReader(withoutVersion(text)))
}

// newerVersion matches a directive such as %YAML 1.2 before a document's content, up to the last digit.
var newerVersion = regexp.MustCompile(`\A(?:[ \t]*(?:[#%].*)?\r?\n)*%YAML[ \t]+1\.[2-9]\b`)

// withoutVersion returns a text that the parser accepts in place of the given one, with all characters at the same
// places. The parser knows YAML 1.1 alone, and gatefold, like kubectl, reads every document by its rules. YAML 1.2
// says that a processor accepts each version 1.x (6.8.1). So the result has %YAML 1.1 in place of a newer 1.x.
func withoutVersion(text []byte) []byte {
	if !bytes.Contains(text, []byte("%YAML")) {
		return text
	}
	at := newerVersion.FindIndex(text)
	if at == nil {
		return text
	}
	text = bytes.Clone(text)
	text[at[1]-1] = '1'
	return text
}

// parseFrom does the same as parseYAML, for a text without a newer version (withoutVersion).
func parseFrom(text io.Reader) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	var document, extra yaml.Node
	parser := yaml.NewDecoder(text)
	if err := parser.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := parser.Decode(&extra); err == nil {
		return nil, errExtraDocument
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return document.Content[0], nil
}

// estimateNodes estimates the number of YAML nodes in a text. It returns the number of characters that may
// begin a node.
func estimateNodes(text []byte) int {
	n := 0
	for _, c := range []byte("\n:,[{-?") {
		n += bytes.Count(text, []byte{c})
	}
	return n
}

// decoder converts YAML nodes to the values that encoding/json would return, except that integers are int64.
// Each value is the one that sigs.k8s.io/yaml, and so kubectl, reads. Unlike sigs.k8s.io/yaml, the decoder
// rejects duplicate keys.
type decoder struct {
	problems []finding
	path     fieldPath
	depth    int
	expanded int                 // values decoded inside aliases
	active   map[*yaml.Node]bool // anchors whose aliases are being decoded
	stopped  bool                // stop was called: nothing more is decoded
	loose    bool                // the mode of readLoosely
}

// decodeYAML returns the value of a document, and at most maxMistakes of its mistakes. root is the document's root
// node. Values with a mistake are nil or missing. If a mapping has a key twice, the later value gets a new key in the
// result, so that no value is lost. The new key is the original key, a fixed text (see the constant "repeated"), and
// a number. Lines count from the beginning of the document.
func decodeYAML(root *yaml.Node) (any, []finding) {
	d := decoder{active: map[*yaml.Node]bool{}}
	value := d.value(root)
	return value, d.problems
}

// readLoosely returns the value of a document's root, and ignores mistakes. A scalar becomes its text, even if
// YAML would read a number or boolean, and null becomes nil. Only a scalar with the tag !!binary is decoded. A
// value beyond a limit is nil.
func readLoosely(root *yaml.Node) any {
	d := decoder{active: map[*yaml.Node]bool{}, loose: true}
	return d.value(root)
}

// report adds a mistake at the node. It does nothing if the decoding was stopped (stop), or if there are
// maxMistakes already.
func (d *decoder) report(n *yaml.Node, code, message, hint string) {
	if d.stopped || len(d.problems) == maxMistakes {
		return
	}
	d.problems = append(d.problems, finding{width: placeOf(n).width, Problem: manifest.Problem{
		Code: code, Severity: manifest.Error, Line: n.Line, Column: n.Column,
		Field: d.path.String(), Message: message, Hint: hint,
	}})
}

// stop reports a mistake after which the decoding must end: an exceeded limit, or an alias in its own anchor. It
// stops the decoding, except in the mode of readLoosely.
func (d *decoder) stop(n *yaml.Node, code, message, hint string) {
	d.report(n, code, message, hint)
	d.stopped = !d.loose
}

// value returns the value of a node. It returns nil if the node is invalid or beyond a limit, or if the decoding
// was stopped (stop).
func (d *decoder) value(n *yaml.Node) any {
	if !d.count(n) {
		return nil
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return d.scalar(n)
	case yaml.AliasNode:
		return d.alias(n, d.value)
	}
	return d.collection(n)
}

// lessDeep is the hint of problems with the code TooDeep.
const lessDeep = "look for brackets that are not closed; no kind's fields lie so deep"

// count reports whether a value may be decoded. It returns false if the decoding was stopped (stop). Inside an
// alias, it also counts the value. After maxAliasNodes such values it reports a mistake and returns false.
func (d *decoder) count(n *yaml.Node) bool {
	if len(d.active) == 0 {
		return !d.stopped
	}
	if d.expanded == maxAliasNodes {
		d.stop(n, "TooManyAliases", fmt.Sprintf("the document's aliases stand for more than %d values", maxAliasNodes),
			"write the values out, or use fewer aliases (*name)")
		return false
	}
	d.expanded++
	return !d.stopped
}

// collection returns the value of a mapping or a list. If the nesting would be deeper than maxDepth, it reports
// a mistake and returns nil.
func (d *decoder) collection(n *yaml.Node) any {
	if d.depth == maxDepth {
		d.stop(n, "TooDeep", fmt.Sprintf("values are nested more than %d levels deep", maxDepth), lessDeep)
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	if n.Kind == yaml.SequenceNode {
		return d.list(n)
	}
	object := make(map[string]any, len(n.Content)/2)
	d.mapping(n, object)
	return object
}

// alias calls the function decode with the anchor, which is the node to which the alias n refers, and returns the
// result. There are two cases in which alias returns nil and does not call decode: the anchor contains n, which is
// reported as a mistake, or d.count returns false.
func (d *decoder) alias(n *yaml.Node, decode func(anchor *yaml.Node) any) any {
	if d.active[n.Alias] {
		d.stop(n, "AliasCycle", "the value of the anchor "+quote(n.Value)+" contains itself", "")
		return nil
	}
	d.active[n.Alias] = true
	defer delete(d.active, n.Alias)
	if !d.count(n) {
		return nil
	}
	return decode(n.Alias)
}

// list returns the items of a list.
func (d *decoder) list(n *yaml.Node) any {
	list := make([]any, 0, len(n.Content))
	for i, item := range n.Content {
		d.path.push(step{index: i})
		list = append(list, d.value(item))
		d.path.pop()
	}
	return list
}

// mapping adds the keys and values of the mapping n to the map object. If n is merged into another mapping with <<,
// object may already have keys. If a mapping has a key, and << adds the same key, then the value that comes later in
// the text counts, as in sigs.k8s.io/yaml. mapping reports duplicate and invalid keys. A duplicate key gets another
// name (see repeated), and an invalid key is left out.
func (d *decoder) mapping(n *yaml.Node, object map[string]any) {
	seen := object
	if len(object) > 0 || hasMerge(n) {
		seen = make(map[string]any, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content) && !d.stopped; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			d.merge(value, object)
			continue
		}
		name, ok := d.key(key)
		if !ok {
			continue
		}
		if _, twice := seen[name]; twice {
			d.duplicate(n, i, name)
			object[fmt.Sprintf("%s%s%06d", name, repeated, i)] = d.value(value)
			continue
		}
		d.path.push(step{key: name, named: true})
		seen[name] = nil
		object[name] = d.value(value)
		d.path.pop()
	}
}

// merge adds the keys of n to the parameter object. The node n is the value of a << key: a mapping, or a list of
// mappings. In a list, the first mapping has precedence. merge reports a mistake for any other value.
func (d *decoder) merge(n *yaml.Node, object map[string]any) {
	into := func(m *yaml.Node) any {
		if m.Kind == yaml.MappingNode {
			d.mapping(m, object)
		} else {
			d.report(m, "InvalidMerge", "<< takes a mapping or a list of mappings", "")
		}
		return nil
	}
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	for i := len(sources) - 1; i >= 0 && !d.stopped; i-- {
		if source := sources[i]; source.Kind == yaml.AliasNode {
			d.alias(source, into)
		} else {
			into(source)
		}
	}
}

// isMerge reports whether a key is the << of a merge.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// hasMerge reports whether a mapping has a << key.
func hasMerge(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			return true
		}
	}
	return false
}

// duplicate reports a duplicate key: the key at n.Content[at] has the given name, and so has an earlier key of n.
func (d *decoder) duplicate(n *yaml.Node, at int, name string) {
	if d.stopped || len(d.problems) == maxMistakes {
		return
	}
	d.path.push(step{key: name, named: true})
	defer d.path.pop()
	first := n.Content[at]
	for i := 0; i < at; i += 2 {
		if other, err := keyName(n.Content[i]); err == nil && other == name {
			first = n.Content[i]
			break
		}
	}
	hint := "remove one of the two; programs disagree about which would count"
	if name == "apiVersion" {
		hint = "remove one of the two; if another object begins here, write a line --- above it"
	}
	d.report(n.Content[at], "DuplicateKey", quote(name)+" is written twice here", hint)
	last := &d.problems[len(d.problems)-1]
	last.Message, last.other = strings.ReplaceAll(last.Message, "%", "%%")+", first in line %d", first.Line
}

// key returns the name that a key has in JSON. It reports a mistake and returns false if the key is not a
// scalar, or is a value that cannot be a key.
func (d *decoder) key(n *yaml.Node) (string, bool) {
	name, err := keyName(n)
	if err == nil {
		return name, true
	}
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
		template := variableForms[0]
		d.report(n, codeNotRendered, template.message("{{ … }}"), template.hint+"; if it is text, put it in quotes")
	} else {
		d.report(n, "InvalidKey", err.Error(), "write the key as plain or quoted text")
	}
	return "", false
}

// scalar returns the value that a scalar has in JSON. It reports a mistake and returns nil if the scalar is
// invalid. In the mode of readLoosely it returns the scalar's text, or nil for null. A scalar with the tag
// !!binary is the same in both modes.
func (d *decoder) scalar(n *yaml.Node) any {
	if d.loose && n.Tag != "!!binary" {
		if n.Style == 0 && resolvePlain(n.Value) == nil {
			return nil
		}
		return n.Value
	}
	value, err := resolve(n)
	if err == nil {
		value, err = jsonValue(value)
	}
	if err != nil {
		d.report(n, "InvalidValue", err.Error(), "")
		return nil
	}
	return value
}
