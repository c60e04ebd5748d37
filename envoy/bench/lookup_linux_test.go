package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// A lookup is measured with two Envoys that have the same listeners, one for each table:
// one Envoy has the tables as gatefold compiles them, the other has them as plain lists.
const (
	compiled = iota
	linear
	forms
)

// request is one request that is measured, of both forms.
type request struct {
	table, kind string
	load        [forms]load
	cost        [forms][]float64 // worker CPU for each, in µs
	rate        [forms][]float64 // a second
}

func (q *request) cpu(form int) float64 { return middle(q.cost[form]) }

func middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// measureLookup takes the CPU time of Envoy's worker thread for each request, and the
// requests in a second, of the last route of each table.
func measureLookup(t *testing.T, r *run) {
	world := newLookup(t, r.lookups)
	for range r.lookupRounds {
		for _, request := range world.requests {
			for form := range forms {
				world.measure(t, request, form, r.lookupTime)
			}
		}
	}
	r.table.add(world.rows()...)
}

// lookup is the two Envoys and what is asked of them.
type lookup struct {
	envoys   [forms]*envoytest.Envoy
	requests []*request
}

func newLookup(t *testing.T, sizes []int) *lookup {
	t.Helper()
	upstream := startUpstream(t)
	address := [forms]string{envoytest.LoopbackAddress(), envoytest.LoopbackAddress()}
	tables := newTables(sizes, upstream)
	l, trees := &lookup{}, 0
	for form := range forms {
		s, result := newSender(t), translated(t, tables.files(), address[form])
		for _, update := range result.Delta {
			body := update.Resource.Body
			if form == linear && cases.Compiled(update.Resource) {
				trees++
				list, err := cases.Listed(update.Resource, result.View())
				if err != nil {
					t.Fatal(err)
				}
				body = list
			}
			s.hold(update.Type, update.Name, body)
		}
		l.envoys[form] = envoytest.Start(t, envoytest.Options{XDSAddress: s.address})
	}
	if trees < len(sizes)-1 {
		t.Fatalf("%d tables are compiled: nothing is compared", trees)
	}
	for i, table := range tables.all {
		for form := range forms {
			l.envoys[form].WaitListener(fmt.Sprintf("%s:%d", address[form], firstPort+i))
		}
		for kind, q := range table.asked() {
			one := &request{table: table.name, kind: kind}
			for form := range forms {
				one.load[form] = newLoad(fmt.Sprintf("%s:%d", address[form], firstPort+i), q.path, q.headers, q.status)
			}
			l.requests = append(l.requests, one)
		}
	}
	slices.SortStableFunc(l.requests, func(a, b *request) int { return compare(a.kind, b.kind) })
	return l
}

// measure sends a request for a while.
func (l *lookup) measure(t *testing.T, q *request, form int, lasts time.Duration) {
	q.load[form].run(t, lasts/10) // brings the table into the cache
	worker := func() time.Duration { return cpuOf(t, l.envoys[form].Pid(), "wrk:worker_0") }
	cpu, began := worker(), time.Now()
	sent := float64(q.load[form].run(t, lasts))
	q.cost[form] = append(q.cost[form], float64((worker()-cpu).Nanoseconds())/1000/sent)
	q.rate[form] = append(q.rate[form], sent/time.Since(began).Seconds())
}

// rows compares each table with its list and with the smallest table.
func (l *lookup) rows() []row {
	var rows []row
	least := map[string]*request{}
	for _, q := range l.requests {
		if least[q.kind] == nil {
			least[q.kind] = q
		}
		base := least[q.kind]
		name, goals := q.table+", "+q.kind, q.table == "10,000 routes"
		cost := row{Part: "lookup", Case: name, Measure: "worker CPU for a request, µs", Value: q.cpu(compiled), Base: q.cpu(linear), Against: "linear"}
		above := row{Part: "lookup", Case: name, Measure: "worker CPU for a request, µs", Value: q.cpu(compiled), Base: base.cpu(compiled), Against: base.table}
		if q.kind == direct && strings.HasPrefix(q.table, "10,000 routes") {
			cost.MaxRatio = 1.0 / 20
		}
		if goals && q.kind == direct {
			above.MaxAbove = 4
		}
		if goals && q.kind == proxied {
			above.MaxRatio = 1.1
		}
		rows = append(rows, cost)
		if q != base {
			rows = append(rows, above)
		}
		rows = append(rows, row{Part: "lookup", Case: name, Measure: "requests a second", Value: middle(q.rate[compiled]), Base: middle(q.rate[linear]), Against: "linear"})
	}
	return rows
}

// translated makes what gatefold would send of a folder whose Gateway listens on address.
func translated(t *testing.T, files map[string][]byte, address string) translate.Result {
	t.Helper()
	objects, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := objects.Apply(cases.Tree(files))
	result := translate.New(translate.Options{Bind: []string{address}}).Apply(change)
	for _, problem := range append(change.Problems, result.Problems...) {
		if problem.Severity == manifest.Error {
			t.Fatal(problem)
		}
	}
	return result
}

// startUpstream starts the Envoy that requests are proxied to, and gives its port on
// 127.0.0.1. It answers by itself.
func startUpstream(t *testing.T) int {
	t.Helper()
	port := envoytest.FreePort(t)
	envoytest.Start(t, envoytest.Options{Config: fmt.Appendf(nil, `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: upstream
          route_config:
            virtual_hosts:
            - {name: all, domains: ["*"], routes: [{match: {prefix: /}, direct_response: {status: 200, body: {inline_string: ok}}}]}
          http_filters:
          - {name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
`, port)}).WaitListener(fmt.Sprintf("127.0.0.1:%d", port))
	return port
}
