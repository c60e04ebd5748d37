package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// attack is a file of a team beside the platform's. The number makes it another text.
type attack struct {
	name string
	text func(number int) []byte
}

// attacks are what costs most to read, one by one. The size of a run decides how large they are.
func (r *run) attacks() []attack {
	route := func(name, hosts, matches string, rules, each, number int) string {
		text := fmt.Sprintf("---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s, namespace: attacker}\nspec:\n  parentRefs: [{name: eg, namespace: default}]\n  hostnames: [%s]\n  rules:\n", name, hosts)
		for i := range rules {
			text += "  - matches:\n"
			for j := range each {
				text += fmt.Sprintf("    - {path: {"+matches+"}}\n", number*rules*each+i*each+j)
			}
		}
		return text
	}
	several := func(n int, one func(i int) string) func(int) []byte {
		return func(number int) []byte {
			var all strings.Builder
			for i := range n {
				all.WriteString(one(number*n + i))
			}
			return []byte(all.String())
		}
	}
	hosts := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("h%d.attacker.test", i)
		}
		return strings.Join(names, ", ")
	}
	n := r.attackRoutes
	return []attack{
		{"1,024 matches, invalid", several(n, func(i int) string { return route(fmt.Sprint("r", i%n), hosts(1), "value: /%d", 16, 64, i) })},
		{"128 matches on 16 hosts", several(n/10, func(i int) string { return route(fmt.Sprint("r", i%(n/10)), hosts(16), "value: /%d", 16, 8, i) })},
		{"128 costly expressions", several(n/10, func(i int) string {
			return route(fmt.Sprint("r", i%(n/10)), hosts(1), `type: RegularExpression, value: '/%d/\PL{1000}'`, 16, 8, i)
		})},
	}
}

// measureAttack takes the time from the rename of a file of the platform to its table at a client, and the times of a start
// and of a stop, beside each attack, and in turn without one. A new text of the attack comes 150 ms before each edit.
func measureAttack(t *testing.T, r *run) {
	s := shape{Routes: r.edits[0], Hosts: min(100, r.edits[0]/10)}
	for _, a := range r.attacks() {
		t.Run(a.name, func(t *testing.T) {
			beside, alone := besideTeam(t, s), besideTeam(t, s)
			var attacked, calm spent
			for i := range max(1, r.editCount/7) {
				replace(t, beside.staging, beside.folder, "attacker/evil.yaml", a.text(i))
				attacked.add(beside.oneEdit(40_000_000 + i))
				beside.rest()
				calm.add(alone.oneEdit(40_000_000 + i))
			}
			what := fmt.Sprintf("%s routes beside a team's %d HTTPRoutes of %s", thousands(s.Routes), strings.Count(string(a.text(0)), "---"), a.name)
			add := func(measure string, value, base float64, most float64) {
				r.table.add(row{Part: "attack", Case: what, Measure: measure, Value: value, Base: base, Against: "without it", Max: most})
			}
			add("rename to client, median, ms", attacked.wall(), calm.wall(), 5000)
			ready, stopped := beside.again()
			readyAlone, stoppedAlone := alone.again()
			add("from a start without state to the first table, ms", ms(ready), ms(readyAlone), 10_000)
			add("from SIGTERM to the end, ms", ms(stopped), ms(stoppedAlone), 10_000)
		})
	}
}

// besideTeam serves a shape under path policies, of which the team attacker has a directory.
func besideTeam(t *testing.T, s shape) *started {
	t.Helper()
	folder, address := t.TempDir(), envoytest.LoopbackAddress()
	s.write(t, folder, address, 10_000)
	open := strings.Replace(string(s.base(address, 10_000)), "protocol: HTTP}", "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}", 1)
	put(t, filepath.Join(folder, "base.yaml"), []byte(open+`---
{apiVersion: v1, kind: Namespace, metadata: {name: default, annotations: {gatefold.io/paths: "*.yaml"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: attacker, annotations: {gatefold.io/paths: attacker/**}}}
`))
	g := &started{shape: s, address: address}
	g.gatefold = serve(t, folder, "--state-dir", "none", "--cluster-paths", "*.yaml")
	for _, dir := range []string{folder, g.staging} {
		if err := os.Mkdir(filepath.Join(dir, "attacker"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g.client = connect(t, g.xds, tableName(address+":10000"))
	g.client.next(s.envoyName(s.Routes - 1))
	g.rest()
	return g
}

// oneEdit edits a route 150 ms from now, and tells how long it took until the client had it.
func (g *started) oneEdit(revision int) spent {
	time.Sleep(150 * time.Millisecond)
	route := (revision*7919 + g.shape.Routes/2) % g.shape.Routes
	began := g.edit(g.shape.file(route), g.shape.route(route, revision))
	return spent{took: []time.Duration{g.client.next(fmt.Sprint(revision)).at.Sub(began)}}
}

// again stops gatefold, starts another one on the same folder, and tells how long it took until a client had the first table,
// and how long the stop of that one takes in the middle of its work.
func (g *started) again() (ready, stopped time.Duration) {
	g.stop()
	next := serve(g.t, g.folder, "--state-dir", "none", "--cluster-paths", "*.yaml")
	table := connect(g.t, next.xds, tableName(g.address+":10000")).next(g.shape.envoyName(g.shape.Routes - 1))
	began := time.Now()
	next.stop()
	return table.at.Sub(next.began), time.Since(began)
}
