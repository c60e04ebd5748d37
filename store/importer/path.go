package importer

import (
	"strconv"
	"strings"
)

// parse splits a path such as spec.rules[0].host into keys and indexes.
func parse(path string) []string {
	var steps []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			inside, rest, _ := strings.Cut(path[1:], "]")
			steps, path = append(steps, inside), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, path[:end]), path[end:]
		}
	}
	return steps
}

// lookup returns the value at a path. It returns nil if there is none. named is the innermost map on the path
// with a text in its entry "name", such as a backendRef. It is nil if there is no such map. The maps of the
// first two levels, such as metadata, do not count.
func lookup(value any, steps []string) (found any, named map[string]any) {
	for i := 0; ; i++ {
		if object, ok := value.(map[string]any); ok && text(object["name"]) != "" && i > 1 {
			named = object
		}
		if i == len(steps) {
			return value, named
		}
		switch v := value.(type) {
		case map[string]any:
			value = v[steps[i]]
		case []any:
			n, err := strconv.Atoi(steps[i])
			if err != nil || n < 0 || n >= len(v) {
				return nil, named
			}
			value = v[n]
		default:
			return nil, named
		}
	}
}

// remove removes the field at a path from value. It reports whether the field existed. It does not remove items
// of lists, because that would change the indexes of other items.
func remove(value any, steps []string) bool {
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1]
	within, _ := lookup(value, steps[:len(steps)-1])
	object, ok := within.(map[string]any)
	if !ok {
		return false
	}
	_, there := object[last]
	delete(object, last)
	return there
}

// index returns the index that follows prefix in a path: 2 for the prefix spec.rules and the path
// spec.rules[2].name. It returns -1 if there is none.
func index(path, prefix string) int {
	rest, ok := strings.CutPrefix(path, prefix+"[")
	if !ok {
		return -1
	}
	number, _, _ := strings.Cut(rest, "]")
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return n
}

// removable returns the field to name in --accept if the given field must be removed. This is the field itself,
// or the list if the field is an item of a list, because remove cannot remove items.
func removable(field string) string {
	i := strings.LastIndexByte(field, '[')
	if i < 0 || !strings.HasSuffix(field, "]") {
		return field
	}
	if _, err := strconv.Atoi(field[i+1 : len(field)-1]); err != nil {
		return field
	}
	return removable(field[:i])
}
