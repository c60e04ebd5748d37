// Package sketch reads YAML that is being written: unfinished lines, flows without an end and wrong
// indentation cost what they are about, and all else is found. It knows where each key and value is.
// It is no judge: package store decides what a text means.
package sketch

import (
	"bytes"
	"strings"
)

// maxBytes bounds the documents that are read, and maxDepth how deep.
const (
	maxBytes = 1 << 20
	maxDepth = 100
)

// Kind is the kind of a Node.
type Kind string

// The kinds.
const (
	Scalar   Kind = "scalar"
	Mapping  Kind = "mapping"
	Sequence Kind = "sequence"
)

// Node is a value. Start and End are offsets in the text; those of a scalar include its quotes.
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
	Colon      bool  // false for a key that is not finished
	Value      *Node // nil for none
}

// Get returns the value of a key, nil for none, and for what is no mapping.
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

// Text returns the text of a scalar, "" for others.
func (n *Node) Text() string {
	if n == nil || n.Kind != Scalar {
		return ""
	}
	return n.Value
}

// Document returns the value of the document that the offset is in; nil for an empty document, and for
// one that is too large.
func Document(text []byte, offset int) *Node {
	start, end := bounds(text, offset)
	if end-start > maxBytes {
		return nil
	}
	p := &parser{text: text[:end], at: start}
	root := p.block(0, 0)
	for p.next() { // what a wrong indentation left over
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

// bounds returns where the document of an offset begins and ends.
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

func separates(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	if !found {
		rest, found = bytes.CutPrefix(line, []byte("..."))
	}
	return found && (len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r' || rest[0] == ' ')
}

// parser reads text from at on. Each of its functions leaves at behind what it read.
type parser struct {
	text []byte
	at   int
}

func (p *parser) byteAt(i int) byte {
	if i < 0 || i >= len(p.text) {
		return '\n'
	}
	return p.text[i]
}

// next goes to the next token, over blanks, lines and comments; false at the end.
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

// inLine goes to the next token of the line; false if there is none.
func (p *parser) inLine() bool {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	c := p.byteAt(p.at)
	return c != '\n' && c != '\r' && (c != '#' || !isBlank(p.byteAt(p.at-1)))
}

func (p *parser) skipLine() { p.at = min(p.lineEnd()+1, len(p.text)) }

func (p *parser) lineEnd() int {
	if n := bytes.IndexByte(p.text[p.at:], '\n'); n >= 0 {
		return p.at + n
	}
	return len(p.text)
}

// column returns how many bytes are before at on its line.
func (p *parser) column() int { return p.at - 1 - bytes.LastIndexByte(p.text[:p.at], '\n') }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// dash reports whether at is the dash of an item.
func (p *parser) dash() bool { return p.byteAt(p.at) == '-' && isBlank(p.byteAt(p.at+1)) }

// block reads a value that begins at the next token if that is in column least or behind it.
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
		if _, found := p.keyEnd(); found { // a key without its colon, and further ones
			return p.mapping(text, depth)
		}
	}
	p.skipDeeper(least)
	return text
}

// properties goes over anchors and tags of the line.
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

// skipDeeper goes over the lines that continue a scalar.
func (p *parser) skipDeeper(least int) {
	for p.next() && p.column() >= max(least, 1) && !p.dash() {
		if _, found := p.keyEnd(); found {
			return
		}
		p.skipLine()
	}
}

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

// mapping reads a mapping; first is a key without a colon that was read before, nil for none.
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

// value reads the value of a key in a column.
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

// blockScalar reads a text of lines that are in column least or behind it.
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

// keyEnd returns the end of the key that begins at p.at; found is false if no colon follows it.
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

// quoted returns the end of a quoted scalar: behind its quote, or the end of the line without one.
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

// scalar reads a scalar of one line, which ends before the characters of stops.
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

func endsFlowKey(c byte) bool { return isBlank(c) || strings.IndexByte(",[]{}", c) >= 0 }

// unquote returns the text of a scalar. Escapes stay as they are: names have none.
func unquote(text string) string {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return strings.TrimSuffix(text[1:], text[:1])
	}
	return text
}
