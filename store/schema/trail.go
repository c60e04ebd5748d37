package schema

import "strconv"

// trail is the path from the root of an object to the value that is being checked.
type trail []step

// step is one element of a path: the name of a field, the key of a map, or the index of a list item.
type step struct {
	name  string
	index int // index of an item; aField or aKey for a name
}

const (
	aField = -1
	aKey   = -2
)

// into appends one name to the path. If n, the schema of the current object, has a field with this name, the
// name is recorded as a field; if n is a map, it is recorded as a key. The method out removes the last element
// of the path.
func (t *trail) into(name string, n *node) {
	if n.fields[name] == nil && n.values != nil {
		*t = append(*t, step{name, aKey})
		return
	}
	t.intoField(name)
}

func (t *trail) intoField(name string) { *t = append(*t, step{name, aField}) }

func (t *trail) intoItem(index int) { *t = append(*t, step{index: index}) }

func (t *trail) out() { *t = (*t)[:len(*t)-1] }

// name returns the end of the path: the last field name with the indexes or keys after it, such as weight or
// hostnames[0].
func (t trail) name() string {
	from := len(t) - 1
	for from > 0 && t[from].index != aField {
		from--
	}
	return t[max(from, 0):].text()
}

// text returns the path as text, in the form of Finding.Field.
func (t trail) text() string {
	var text []byte
	for _, s := range t {
		switch {
		case s.index >= 0:
			text = append(strconv.AppendInt(append(text, '['), int64(s.index), 10), ']')
		case s.index == aKey:
			text = append(append(append(text, '['), s.name...), ']')
		case len(text) > 0:
			text = append(append(text, '.'), s.name...)
		default:
			text = append(text, s.name...)
		}
	}
	return string(text)
}
