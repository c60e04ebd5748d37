package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkKeystroke is the time from a key in one of 10,000 routes, each in a file of its own or all
// in one file, to its diagnostics in the editor, debounce included.
func BenchmarkKeystroke(b *testing.B) {
	const routes = 10_000
	for _, perFile := range []int{1, routes} {
		b.Run(fmt.Sprintf("perfile=%d", perFile), func(b *testing.B) {
			files := map[string]string{"gateway.yaml": gatewayText, "backend.yaml": backendText}
			for i := range routes {
				name := fmt.Sprintf("routes/%d.yaml", i/perFile)
				files[name] += strings.ReplaceAll(strings.ReplaceAll(routeText, "metadata: {name: shop}", fmt.Sprintf("metadata: {name: r%d}", i)), "/shop", fmt.Sprintf("/shop/%d", i)) + "---\n"
			}
			c := connect(b, files, nil)
			text := files["routes/0.yaml"]
			c.openText("routes/0.yaml", text)
			letter := newText([]byte(text), utf16Units).position(strings.LastIndex(text, "backendRefs") + len("backendRef"))
			after := span{letter, position{letter.Line, letter.Character + 1}}
			c.edit("routes/0.yaml", 2, after, "")
			c.waitForCodes("routes/0.yaml", "UnknownField")
			version := 2
			for b.Loop() {
				if version++; version%2 == 1 {
					c.edit("routes/0.yaml", version, span{letter, letter}, "s")
					c.waitForCodes("routes/0.yaml")
				} else {
					c.edit("routes/0.yaml", version, after, "")
					c.waitForCodes("routes/0.yaml", "UnknownField")
				}
			}
		})
	}
}
