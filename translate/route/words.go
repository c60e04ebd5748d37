package route

import (
	"fmt"
	"strings"
)

// Named is how many items a message names.
const Named = 5

// Several joins the items of a message, the first of many.
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
