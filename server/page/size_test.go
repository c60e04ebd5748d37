package page_test

import (
	"fmt"
	"strings"
	"testing"
)

// A page is bounded, whatever the folder holds, and links lead to all of a long list.
func TestPagesAreBounded(t *testing.T) {
	routes := 10_000
	if testing.Short() {
		routes = 2_000
	}
	files := map[string]string{"shop.yaml": shop}
	long := strings.Repeat("x", 200)
	for file := range 10 {
		var text strings.Builder
		for i := range routes / 10 {
			fmt.Fprintf(&text, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r-%d-%d, namespace: platform}\nspec:\n  parentRefs: [{name: edge}]\n  hostnames: [h%d.example.com]\n"+
				"  rules:\n  - matches: [{path: {value: /%d/%s}}]\n    backendRefs: [{name: gone-%s, port: 80}]\n", file, i, i%50, i, long, long[:50])
		}
		files[fmt.Sprintf("r%d.yaml", file)] = text.String()
	}
	s := serve(t, files)
	object := "/page/object?group=gateway.networking.k8s.io&namespace=platform&kind="
	for _, path := range []string{"/", "/page/routes", "/page/problems", "/page/edits", "/page/certificates", "/page/endpoints", object + "Gateway&name=edge", object + "HTTPRoute&name=r-1-1",
		"/page/explain?url=http%3A%2F%2Fh1.example.com%3A8080%2Fnone"} {
		if page := s.get(path); len(page) > 300_000 {
			t.Errorf("%s has %d bytes", path, len(page))
		}
	}
	shown, pieces := 0, 0
	for path := "/page/routes"; path != ""; pieces++ {
		page := s.get(path)
		if len(page) > 300_000 {
			t.Fatalf("%s has %d bytes", path, len(page))
		}
		shown += strings.Count(page, "path prefix /")
		path = next(page)
	}
	if shown < routes || pieces < 3 {
		t.Errorf("%d rules are shown on %d pieces", shown, pieces)
	}
}

// next returns the link to the next piece of a list, "" on the last.
func next(page string) string {
	_, after, found := strings.Cut(page, `<a rel="next" href="`)
	if !found {
		return ""
	}
	link, _, _ := strings.Cut(after, `"`)
	return strings.ReplaceAll(link, "&amp;", "&")
}
