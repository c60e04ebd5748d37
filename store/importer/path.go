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

// lookup returns the value at a path (steps) inside value, or nil if the path does not exist. The result inner is the
// innermost map on the path whose "name" is a non-empty string, such as a backendRef. It is nil if there is no such
// map. The parameter value itself and its direct fields, such as metadata, do not count.
func lookup(value any, steps []string) (found any, inner map[string]any) {
	for i := 0; ; i++ {
		if object, ok := value.(map[string]any); ok && text(object["name"]) != "" && i > 1 {
			inner = object
		}
		if i == len(steps) {
			return value, inner
		}
		switch v := value.(type) {
		case map[string]any:
			value = v[steps[i]]
		case []any:
			n, err := strconv.Atoi(steps[i])
			if err != nil || n < 0 || n >= len(v) {
				return nil, inner
			}
			value = v[n]
		default:
			return nil, inner
		}
	}
}

// remove deletes the field at a path (steps) from value, and reports whether it deleted a field. It never deletes
// items of lists, because the indexes of other items would change.
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

// index returns the number in brackets directly after prefix in a path: 2 for the prefix spec.rules and the
// path spec.rules[2].name. It returns -1 if the path has no such number.
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

// removable returns the path that a user must give to --accept to leave out a field (the parameter field). For an
// item of a list, the result is the path of the whole list, because remove cannot delete items. For any other field,
// the result is the parameter field itself.
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
