package sketch

// Step is one step of a path to a value: a key of a mapping, or an item of a sequence.
type Step struct {
	In    *Node  // the mapping or sequence
	Key   string // "" for an item
	Index int    // index of the item or entry
}

// Spot is the key or value at an offset.
type Spot struct {
	Path []Step
	// Key is the entry whose key is at the offset, or nil. Path ends with it.
	Key *Entry
	// Value is the scalar at the offset, or nil.
	Value *Node
}

// Find returns the key or value at an offset. The offset right after a token still belongs to the token. If n itself
// is a scalar, the result has this scalar for every offset.
func (n *Node) Find(offset int) Spot {
	var spot Spot
	for n != nil {
		switch n.Kind {
		case Scalar:
			spot.Value = n
			return spot
		case Mapping:
			n = spot.entry(n, offset)
		case Sequence:
			n = spot.item(n, offset)
		}
	}
	return spot
}

// entry finds the entry of a mapping at the offset, adds its key to the path, and returns its value. If the
// offset is in the key, it sets s.Key and returns nil. It also returns nil if no entry is at the offset.
func (s *Spot) entry(n *Node, offset int) *Node {
	for i := range n.Entries {
		e := &n.Entries[i]
		step := Step{In: n, Key: e.Key, Index: i}
		if e.Start <= offset && offset <= e.End {
			s.Path, s.Key = append(s.Path, step), e
			return nil
		}
		if v := e.Value; v != nil && v.Start <= offset && offset <= v.End {
			s.Path = append(s.Path, step)
			return v
		}
	}
	return nil
}

// item finds the item of a sequence at the offset, adds its index to the path, and returns it. It returns nil if
// no item is at the offset.
func (s *Spot) item(n *Node, offset int) *Node {
	for i, v := range n.Items {
		if v != nil && v.Start <= offset && offset <= v.End {
			s.Path = append(s.Path, Step{In: n, Index: i})
			return v
		}
	}
	return nil
}
