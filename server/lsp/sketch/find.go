package sketch

// Step is one step of the way to a place: a key of a mapping, or an item of a sequence.
type Step struct {
	In    *Node  // the mapping or sequence
	Key   string // "" for an item
	Index int    // of the item, or of the entry
}

// Spot is what is at an offset.
type Spot struct {
	Path []Step
	// Key is the entry whose key is there, nil for none; Path ends with it.
	Key *Entry
	// Value is the scalar that is there, nil for none.
	Value *Node
}

// Find returns what is at an offset; a token reaches to the offset behind it.
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

// entry goes to the entry of a mapping that is at the offset, and returns its value.
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

func (s *Spot) item(n *Node, offset int) *Node {
	for i, v := range n.Items {
		if v != nil && v.Start <= offset && offset <= v.End {
			s.Path = append(s.Path, Step{In: n, Index: i})
			return v
		}
	}
	return nil
}
