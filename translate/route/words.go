package route

import (
	"fmt"
	"strings"
)

// Named is the most items that a message lists.
const Named = 5

// Several joins the items of a message. It leaves out items after the first Named.
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
