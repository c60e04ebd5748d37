package route

import (
	"fmt"
	"strings"
)

// Named is how many items a message lists at most.
const Named = 5

// Several returns the items of a message as text. After the first Named items it only returns how many are left
// out.
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
