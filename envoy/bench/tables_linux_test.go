package bench

import (
	"fmt"
	"strings"
)

// firstPort is the port of the first table's listener; the others follow.
const firstPort = 10_000

// The kinds of request: Envoy answers itself, or a backend does.
const (
	direct  = "direct response"
	proxied = "proxied"
)

// routeTable is a table whose lookup is measured.
type routeTable struct {
	name   string
	routes int
	// shared puts all rules on one path: they differ in headers, methods and regexes.
	shared bool
	// methods has each rule ask for a method, too, which Envoy looks at before the path.
	methods bool
}

// asked is what is asked of a table.
type asked struct{ path, headers, status string }

type routeTables struct {
	all      []routeTable
	upstream int
}

func newTables(sizes []int, upstream int) *routeTables {
	t := &routeTables{upstream: upstream}
	for _, n := range sizes {
		t.all = append(t.all, routeTable{name: thousands(n) + " routes", routes: n})
	}
	last := sizes[len(sizes)-1]
	t.all = append(t.all, routeTable{name: thousands(min(10_000, last)) + " routes with methods", routes: min(10_000, last), methods: true})
	t.all = append(t.all, routeTable{name: thousands(min(1000, last)) + " rules of one path", routes: min(1000, last), shared: true})
	return t
}

// matchesPerRoute is how many matches one HTTPRoute of a table has.
const matchesPerRoute = 64

// path is that of route i of a table. All are of one length: their order is the one in
// which they are written.
func (t routeTable) path(i int) string {
	if t.shared {
		return "/team-000/service-000"
	}
	return fmt.Sprintf("/team-%03d/service-%03d", i/100, i%100)
}

// The last two routes of a table, in its order.
const (
	proxiedPath = "/team-999/service-998"
	directPath  = "/team-999/service-999"
)

// asked gives the request of each kind for the last route of that kind.
func (t routeTable) asked() map[string]asked {
	if t.shared {
		return map[string]asked{direct: {t.path(0), "x-rule: none\r\n", "302"}}
	}
	return map[string]asked{direct: {directPath, "", "302"}, proxied: {proxiedPath, "", "200"}}
}

// match is that of rule i.
func (t routeTable) match(i int) string {
	path := fmt.Sprintf("path: {value: %s}", t.path(i))
	if t.methods {
		return path + ", method: GET"
	}
	if !t.shared {
		return path
	}
	switch i % 3 {
	case 0:
		return fmt.Sprintf("%s, headers: [{name: x-rule, value: v%06d}]", path, i)
	case 1:
		return fmt.Sprintf("%s, method: PUT, headers: [{name: x-rule, value: v%06d}]", path, i)
	}
	return fmt.Sprintf("%s, headers: [{name: x-rule, type: RegularExpression, value: '.*v%06d-[0-9]+'}]", path, i)
}

// files gives a folder in which each table has a listener of its own.
func (t *routeTables) files() map[string][]byte {
	var gateway strings.Builder
	gateway.WriteString(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, annotations: {gatefold.io/access-log: "off"}}
spec:
  gatewayClassName: gatefold
  listeners:
`)
	files := map[string][]byte{"backend.yaml": fmt.Appendf(nil, `apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: upstream}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
`, t.upstream)}
	for i, table := range t.all {
		fmt.Fprintf(&gateway, "  - {name: t%d, port: %d, protocol: HTTP}\n", i, firstPort+i)
		files[fmt.Sprintf("table-%d.yaml", i)] = table.text(i)
	}
	files["gateway.yaml"] = []byte(gateway.String())
	return files
}

// text is the HTTPRoutes of a table, on listener t<number>.
func (t routeTable) text(number int) []byte {
	var out strings.Builder
	route := func(name string) {
		fmt.Fprintf(&out, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s}\n"+
			"spec:\n  parentRefs: [{name: eg, sectionName: t%d}]\n  rules:\n", name, number)
	}
	rule := func(does string, matches ...string) {
		out.WriteString("  - " + does + "\n    matches:\n")
		for _, match := range matches {
			out.WriteString("    - {" + match + "}\n")
		}
	}
	const forward = "backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: upstream}]"
	const redirect = "filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /there}}}]"
	var matches []string
	for i := range t.routes - 2 {
		matches = append(matches, t.match(i))
		if len(matches) == matchesPerRoute || i == t.routes-3 {
			route(fmt.Sprintf("t%d-%06d", number, i))
			rule(forward, matches...)
			matches = nil
		}
	}
	route(fmt.Sprintf("t%d-last", number))
	if t.shared {
		rule(redirect, "path: {value: "+t.path(0)+"}")
		return []byte(out.String())
	}
	method := ""
	if t.methods {
		method = ", method: GET"
	}
	rule(forward, "path: {value: "+proxiedPath+"}"+method)
	rule(redirect, "path: {value: "+directPath+"}"+method)
	return []byte(out.String())
}
