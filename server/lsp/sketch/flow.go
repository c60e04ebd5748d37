package sketch

// flow reads a flow mapping { } or a flow sequence [ ]. If the closing bracket is missing, the value ends before
// a closing bracket of the other kind, or before the first line that begins left of a column (the parameter least).
// The parameter depth counts the values around the flow.
func (p *parser) flow(least, depth int) *Node {
	n := &Node{Kind: Mapping, Start: p.at}
	end := byte('}')
	if p.text[p.at] == '[' {
		n.Kind, end = Sequence, ']'
	}
	p.at++
	for n.End = p.at; p.inFlow(least); n.End = p.at {
		switch c := p.byteAt(p.at); {
		case c == end:
			p.at++
			n.End = p.at
			return n
		case c == '}' || c == ']': // the bracket of an outer flow
			return n
		case c == ',' || depth > maxDepth:
			p.at++
		case n.Kind == Sequence:
			n.Items = append(n.Items, p.flowValue(least, depth))
		default:
			n.Entries = append(n.Entries, p.flowEntry(least, depth))
		}
	}
	return n
}

// inFlow moves to the next token of a flow mapping or sequence, and returns true. If the flow ends before
// another token, inFlow does not move and returns false. A flow also ends at a line that begins left of the column
// in the parameter least.
func (p *parser) inFlow(least int) bool {
	from, line := p.at, p.lineEnd()
	if p.next() && (p.at < line || p.column() >= least) {
		return true
	}
	p.at = from
	return false
}

// flowEntry reads one entry of a flow mapping.
func (p *parser) flowEntry(least, depth int) Entry {
	from := p.at
	key := p.scalar(",[]{}")
	e := Entry{Key: key.Value, Start: key.Start, End: key.End}
	if p.inLine() && p.byteAt(p.at) == ':' {
		e.Colon = true
		p.at++
		line := p.lineEnd()
		if p.inFlow(least) && p.byteAt(p.at) != ',' && p.byteAt(p.at) != '}' && p.byteAt(p.at) != ']' && (p.at < line || !p.flowKey()) {
			e.Value = p.flowValue(least, depth)
		}
	}
	if p.at == from { // a bracket without an opening bracket
		p.at++
	}
	return e
}

// flowKey reports whether a key with a colon begins at p.at.
func (p *parser) flowKey() bool {
	_, found := p.keyEnd()
	return found
}

// flowValue reads one value in a flow.
func (p *parser) flowValue(least, depth int) *Node {
	from := p.at
	if c := p.byteAt(p.at); c == '{' || c == '[' {
		return p.flow(least, depth+1)
	}
	n := p.scalar(",[]{}")
	if p.at == from { // a colon, or a bracket without an opening bracket
		p.at++
	}
	return n
}
