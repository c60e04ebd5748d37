// Package sketch reads YAML that is still being written. It tolerates incomplete lines, flows without an end
// and wrong indentation: only the part with the mistake is missing from the result. It returns the offsets of
// each key and value. It does not check the text: package store does.
package sketch

import (
	"bytes"
	"strings"
)

// maxBytes limits the size of a document. maxDepth limits the nesting of values.
const (
	maxBytes = 1 << 20
	maxDepth = 100
)

// Kind is the kind of a Node.
type Kind string

// The kinds of a Node.
const (
	Scalar   Kind = "scalar"
	Mapping  Kind = "mapping"
	Sequence Kind = "sequence"
)

// Node is a value. Start and End are offsets in the text. A scalar includes its quotes.
type Node struct {
	Kind       Kind
	Start, End int
	Value      string  // of a scalar, without quotes
	Entries    []Entry // of a mapping
	Items      []*Node // of a sequence; an item may be nil
}

// Entry is a key and its value.
type Entry struct {
	Key        string
	Start, End int   // of the key
	Colon      bool  // false if no colon follows the key yet
	Value      *Node // nil if there is no value
}

// Get returns the value of a key. It returns nil if there is no such key, or if n is nil or not a mapping.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Text returns the text of a scalar. It returns "" if n is nil or not a scalar.
func (n *Node) Text() string {
	if n == nil || n.Kind != Scalar {
		return ""
	}
	return n.Value
}

// Document returns the value of the YAML document that contains the offset. It returns nil if the document is
// empty or larger than maxBytes.
func Document(text []byte, offset int) *Node {
	start, end := bounds(text, offset)
	if end-start > maxBytes {
		return nil
	}
	p := &parser{text: text[:end], at: start}
	root := p.block(0, 0)
	for p.next() { // what was left because of wrong indentation
		from := p.at
		rest := p.block(0, 0)
		if root != nil && rest != nil && root.Kind == Mapping && rest.Kind == Mapping {
			root.Entries, root.End = append(root.Entries, rest.Entries...), rest.End
		}
		if p.at == from {
			p.skipLine()
		}
	}
	return root
}

// bounds returns where the YAML document that contains an offset begins and ends.
func bounds(text []byte, offset int) (start, end int) {
	offset = min(max(offset, 0), len(text))
	for at := 0; at < len(text); {
		next := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		if separates(text[at:next]) {
			if at > offset {
				return start, at
			}
			start = next
		}
		at = next
	}
	return min(start, len(text)), len(text)
}

// separates reports whether a line separates documents: --- or ...
func separates(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	if !found {
		rest, found = bytes.CutPrefix(line, []byte("..."))
	}
	return found && (len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r' || rest[0] == ' ')
}

// parser reads YAML. Many methods that read a value have two parameters in common:
//   - least: the leftmost column at which the value may begin
//   - depth: the number of values that enclose the value
type parser struct {
	text []byte
	// at is the offset at which to read on. A method that returns a Node or an Entry sets at to the end of what the
	// method read.
	at int
}

// byteAt returns the byte at an offset. It returns a line feed if the offset is outside of the text.
func (p *parser) byteAt(i int) byte {
	if i < 0 || i >= len(p.text) {
		return '\n'
	}
	return p.text[i]
}

// next moves to the next token, over spaces, line ends and comments. It returns false at the end of the text.
func (p *parser) next() bool {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ', c == '\t', c == '\n', c == '\r':
			p.at++
		case c == '#' && isBlank(p.byteAt(p.at-1)):
			p.skipLine()
		default:
			return true
		}
	}
	return false
}

// inLine moves to the next token of the line. It returns false if there is none.
func (p *parser) inLine() bool {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	c := p.byteAt(p.at)
	return c != '\n' && c != '\r' && (c != '#' || !isBlank(p.byteAt(p.at-1)))
}

// skipLine moves to the beginning of the next line.
func (p *parser) skipLine() { p.at = min(p.lineEnd()+1, len(p.text)) }

// lineEnd returns the offset of the end of the line.
func (p *parser) lineEnd() int {
	if n := bytes.IndexByte(p.text[p.at:], '\n'); n >= 0 {
		return p.at + n
	}
	return len(p.text)
}

// column returns how many bytes of the line are before p.at.
func (p *parser) column() int { return p.at - 1 - bytes.LastIndexByte(p.text[:p.at], '\n') }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// dash reports whether there is a dash of a sequence item at p.at.
func (p *parser) dash() bool { return p.byteAt(p.at) == '-' && isBlank(p.byteAt(p.at+1)) }

// block reads the value at the next token. It returns nil if there is no token, or if depth is above maxDepth. It
// also returns nil if the token is left of the column in the parameter least: the token then belongs to an outer
// value.
func (p *parser) block(least, depth int) *Node {
	if !p.next() || p.column() < least {
		return nil
	}
	if depth > maxDepth {
		p.skipLine()
		return nil
	}
	p.properties()
	switch c := p.byteAt(p.at); {
	case p.dash():
		return p.sequence(depth)
	case c == '{' || c == '[':
		return p.flow(least, depth)
	case c == '|' || c == '>':
		return p.blockScalar(least)
	}
	if _, found := p.keyEnd(); found {
		return p.mapping(nil, depth)
	}
	column := p.column()
	text := p.scalar("")
	if p.next() && p.column() == column && !p.dash() && column >= least {
		if _, found := p.keyEnd(); found { // a key without its colon, followed by other keys
			return p.mapping(text, depth)
		}
	}
	p.skipDeeper(least)
	return text
}

// properties skips anchors and tags on the line.
func (p *parser) properties() {
	for c := p.byteAt(p.at); c == '&' || c == '!'; c = p.byteAt(p.at) {
		for !isBlank(p.byteAt(p.at)) {
			p.at++
		}
		if !p.inLine() {
			return
		}
	}
}

// skipDeeper skips the lines that continue a scalar. The indentation of such a line is at least the number of columns
// in the parameter least, and at least 1. The line begins neither with the dash of a sequence item nor with a key.
func (p *parser) skipDeeper(least int) {
	for p.next() && p.column() >= max(least, 1) && !p.dash() {
		if _, found := p.keyEnd(); found {
			return
		}
		p.skipLine()
	}
}

// sequence reads a block sequence that begins at p.at.
func (p *parser) sequence(depth int) *Node {
	n, column := &Node{Kind: Sequence, Start: p.at}, p.column()
	for p.next() && p.column() >= column {
		if p.column() > column || !p.dash() {
			if p.column() == column {
				break
			}
			p.skipLine()
			continue
		}
		p.at++
		n.End = p.at
		item := p.block(column+1, depth+1)
		if item != nil {
			n.End = item.End
		}
		n.Items = append(n.Items, item)
	}
	return n
}

// mapping reads a block mapping. If its first key lacks the colon (a user is still typing it), the caller has already
// read this key as a scalar, and passes it in the parameter first. Otherwise first is nil.
func (p *parser) mapping(first *Node, depth int) *Node {
	n, column := &Node{Kind: Mapping, Start: p.at}, p.column()
	if first != nil {
		n.Start, n.Entries = first.Start, []Entry{{Key: first.Value, Start: first.Start, End: first.End}}
	}
	for p.next() && p.column() >= column {
		if p.column() > column || p.dash() {
			p.skipLine()
			continue
		}
		end, found := p.keyEnd()
		if !found {
			key := p.scalar("")
			n.Entries, n.End = append(n.Entries, Entry{Key: key.Value, Start: key.Start, End: key.End}), key.End
			p.skipLine()
			continue
		}
		e := Entry{Key: unquote(string(p.text[p.at:end])), Start: p.at, End: end, Colon: true}
		p.at = bytes.IndexByte(p.text[end:], ':') + end + 1
		n.End = p.at
		if e.Value = p.value(column, depth); e.Value != nil {
			n.End = e.Value.End
		}
		n.Entries = append(n.Entries, e)
	}
	return n
}

// value reads the value of a key. column is the column of the key. It returns nil if there is no value.
func (p *parser) value(column, depth int) *Node {
	if p.inLine() {
		p.properties()
	}
	if !p.inLine() {
		if !p.next() || p.column() < column || p.column() == column && !p.dash() {
			return nil
		}
		return p.block(column, depth+1)
	}
	switch c := p.byteAt(p.at); c {
	case '{', '[':
		return p.flow(column+1, depth+1)
	case '|', '>':
		return p.blockScalar(column + 1)
	}
	text := p.scalar("")
	p.skipDeeper(column + 1)
	return text
}

// blockScalar reads a block scalar (| or >). The indentation of each of its lines is at least the number of spaces in
// the parameter least, and at least 1. Empty lines belong to the scalar, too.
func (p *parser) blockScalar(least int) *Node {
	n := &Node{Kind: Scalar, Start: p.at}
	n.End = p.lineEnd()
	for p.skipLine(); p.at < len(p.text); p.skipLine() {
		line := bytes.TrimRight(p.text[p.at:p.lineEnd()], " \t\r")
		if indent := len(line) - len(bytes.TrimLeft(line, " ")); len(line) > 0 && indent < max(least, 1) {
			break
		}
		n.End = p.lineEnd()
	}
	n.Value = string(p.text[n.Start:n.End])
	return n
}

// keyEnd returns the end of the key that begins at p.at. found is false if no colon follows the key.
func (p *parser) keyEnd() (end int, found bool) {
	end = p.at
	switch c := p.byteAt(p.at); c {
	case '"', '\'':
		end = p.quoted(c)
		after := end
		for p.byteAt(after) == ' ' {
			after++
		}
		return end, p.byteAt(after) == ':' && isBlank(p.byteAt(after+1))
	case '{', '[', '|', '>', '#':
		return end, false
	}
	for stop := p.lineEnd(); end < stop; end++ {
		switch c := p.text[end]; {
		case c == ':' && isBlank(p.byteAt(end+1)):
			return len(bytes.TrimRight(p.text[p.at:end], " \t")) + p.at, true
		case c == '#' && end > p.at && isBlank(p.text[end-1]):
			return end, false
		}
	}
	return end, false
}

// quoted returns the end of the quoted scalar at p.at. Without a closing quote, it is the end of the line.
func (p *parser) quoted(quote byte) int {
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\n':
			return i
		case c == '\\' && quote == '"' && p.byteAt(i+1) != '\n':
			i++
		case c == quote && quote == '\'' && p.byteAt(i+1) == quote:
			i++
		case c == quote:
			return i + 1
		}
	}
	return len(p.text)
}

// scalar reads a scalar on one line. Within { } or [ ], the parameter stops has the characters that end the
// scalar, and a colon after a key ends it, too. Elsewhere stops is "".
func (p *parser) scalar(stops string) *Node {
	n := &Node{Kind: Scalar, Start: p.at}
	if c := p.byteAt(p.at); c == '"' || c == '\'' {
		p.at = p.quoted(c)
	} else {
		for i, end := p.at, p.lineEnd(); ; i++ {
			if i == end || strings.IndexByte(stops, p.text[i]) >= 0 || p.text[i] == '#' && i > n.Start && isBlank(p.text[i-1]) ||
				stops != "" && p.text[i] == ':' && endsFlowKey(p.byteAt(i+1)) {
				p.at = i
				break
			}
		}
	}
	n.End = n.Start + len(bytes.TrimRight(p.text[n.Start:p.at], " \t\r"))
	n.Value = unquote(string(p.text[n.Start:n.End]))
	return n
}

// endsFlowKey reports whether a colon inside { } or [ ] is the end of a key. The parameter c is the byte after the
// colon.
func endsFlowKey(c byte) bool { return isBlank(c) || strings.IndexByte(",[]{}", c) >= 0 }

// unquote returns a scalar without its quotes. It decodes no escapes, because names contain none.
func unquote(text string) string {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return strings.TrimSuffix(text[1:], text[:1])
	}
	return text
}
