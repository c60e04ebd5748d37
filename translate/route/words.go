package route

import (
	"fmt"
	"strings"
)

// Named limits the items that one message lists.
const Named = 5

// Several returns the items of a message as text. If there are more items than Named, the text has only the first
// ones, and says how many are left out.
func Several[T any](items []T) string {
	var out []string
	for _, item := range items[:min(len(items), Named)] {
		out = append(out, fmt.Sprint(item))
	}
	if more := len(items) - Named; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}
