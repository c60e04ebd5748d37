package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/route"
)

// priced is a sort of matches that are charged, in plain routes, for what Envoy keeps for them in memory.
type priced struct {
	name string
	// expression is the path of a match with a regular expression; %d is another number in each. A plain match has none.
	expression string
	// request is a path that Envoy reads to the end for the expression with that number.
	request string
}

func pricedMatches() []priced {
	var every strings.Builder // of the bytes above ASCII, each a class of its own
	for b := 0x80; b < 0xff; b++ {
		fmt.Fprintf(&every, `\x%02x`, b)
	}
	const distinct = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz;=@~"
	return []priced{
		{"small", `/%d[^/]+`, "/%dabc"},
		{"items", `/shop/%d/[^/]+/items/[0-9]{1,10}`, "/shop/%d/ab/items/1234567890"},
		{"UUID", `/.*/%d/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "/x/%d/01234567-89ab-cdef-0123-456789abcdef"},
		{"a long text", `/%d` + strings.Repeat("a", 200), "/%d" + strings.Repeat("a", 200)},
		{"a long text beyond ASCII", `/%d` + strings.Repeat("é", 200), "/%d"},
		{"without case", `(?i)/%d` + strings.Repeat("k", 200), "/%d" + strings.Repeat("K", 200)},
		{"each letter", `/%d` + distinct, "/%d" + distinct},
		{"each letter, and a long class", `/%d` + distinct + `[a-c]{400}`, "/%d" + distinct + strings.Repeat("b", 400)},
		{"each byte, and a long class", `/%d` + every.String() + `.{200}`, "/%d"},
		{"a class of 990", `/%d[^x]{990}`, "/%d" + strings.Repeat("b", 990)},
		{"up to 990", `/%d[^/]{0,990}`, "/%d" + strings.Repeat("b", 990)},
		{"a class of Unicode", `/%d\PL{100}`, "/%d" + strings.Repeat("1", 100)},
		{"alternatives", `/%d(` + strings.Repeat("abc|bcd|", 60) + `z)`, "/%dabc"},
		{"groups", `/%d` + strings.Repeat("(a)", 200), "/%d" + strings.Repeat("a", 200)},
		{"options", `/%d` + strings.Repeat("[a-c]?", 150), "/%d" + strings.Repeat("b", 150)},
		{"repetitions", `/%d` + strings.Repeat("a*", 200), "/%d" + strings.Repeat("a", 200)},
		{"beginnings and ends", `/%d(?:$|^|\b){300}`, "/%d"},
		{"open choices", `/[ab]*a[ab]{14}x%d`, ""},
		{"more open choices", `/[a-z0-9]*a[a-z0-9]{60}x%d`, ""},
	}
}

// path is the request for one copy.
func (p priced) path(r *rand.Rand, number int) string {
	if p.request != "" {
		return fmt.Sprintf(p.request, number)
	}
	path := []byte("/")
	for range 8000 {
		path = append(path, "ab"[r.IntN(2)])
	}
	return string(path)
}

// folder writes matches in HTTPRoutes, which all lead to one backend.
func (p priced) folder(matches int) string {
	var b strings.Builder
	b.WriteString("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b}\nspec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9}]}}\n")
	for i := range matches {
		if i%128 == 0 {
			fmt.Fprintf(&b, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: p%05d}\nspec:\n  parentRefs: [{name: eg}]\n  rules:\n", i)
		}
		if i%64 == 0 {
			b.WriteString("  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]\n    matches:\n")
		}
		if p.expression == "" {
			fmt.Fprintf(&b, "    - path: {value: /%d}\n", i)
			continue
		}
		fmt.Fprintf(&b, "    - path: {type: RegularExpression, value: '"+p.expression+"'}\n", i)
	}
	return b.String()
}

// charged is what the HTTPRoutes of a text cost where they are from, in plain routes.
func charged(t *testing.T, text string, from manifest.Source) (units int) {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := s.Apply(cases.Tree(map[string][]byte{"a.yaml": []byte(text)}))
	for _, problem := range change.Problems {
		t.Error(problem.Text(false))
	}
	for _, object := range change.Set {
		if object.Key.Kind == "HTTPRoute" {
			object.Source = from
			units += route.LoadOf(object, func(int) route.PolicyBurden { return route.PolicyBurden{} }).Made
		}
	}
	return units
}

// allocated is what Envoy has allocated, in bytes.
func allocated(t *testing.T, edge *envoytest.Envoy) int {
	t.Helper()
	var page struct {
		Allocated int `json:"allocated,string"`
	}
	if err := json.Unmarshal([]byte(edge.AdminGet("/memory")), &page); err != nil || page.Allocated == 0 {
		t.Fatalf("%v: %+v", err, page)
	}
	return page.Allocated
}

// TestTheirMemoryHasItsPrice: of folders that cost equally much, those of regular expressions need as much of Envoy's memory
// as the one of plain routes, and not a fifth more. Of those that cost a team equally much, none needs more than twice as
// much after each expression was compared with requests that are the worst for it. docs/scale.md#copies-of-a-match has the
// prices.
func TestTheirMemoryHasItsPrice(t *testing.T) {
	const units = 6000
	f := startFolded(t, server.Options{})
	edge := envoytest.Start(t, envoytest.Options{Config: f.bootstrap("edge")})
	// serve replaces what is served; the marker tells that Envoy has it.
	serve := func(name, text string) {
		f.write("priced.yaml", text)
		f.route("marker", name+".example", "")
		f.leads("/marker", name+".example")
	}
	serve("before", priced{}.folder(0))
	before := allocated(t, edge)
	serve("plain", priced{}.folder(units))
	plain := allocated(t, edge) - before // some of before may still be there
	t.Logf("a plain route needs %d bytes", plain/units)
	// within waits: Envoy frees an old table when its worker has let go of it.
	within := func(what string, copies, sum int, most float64) {
		t.Helper()
		times := 0.0
		envoytest.Wait(t, what+" to need no more memory", func() error {
			times = float64(allocated(t, edge)-before) / float64(sum) / (float64(plain) / units)
			if times > most {
				return fmt.Errorf("%d expressions of %d units need %.2f times the memory of plain routes", copies, sum/copies, times)
			}
			return nil
		})
		t.Logf("%-45s %4d units each: %.2f times", what, sum/copies, times)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i, kind := range pricedMatches() {
		copies := max(1, units/charged(t, kind.folder(1), manifest.AnyFile))
		text := kind.folder(copies)
		serve(fmt.Sprint("kind", i), text)
		within(kind.name, copies, charged(t, text, manifest.AnyFile), 1.2)

		copies = max(1, units/charged(t, kind.folder(1), manifest.OtherFile))
		text = kind.folder(copies)
		serve(fmt.Sprint("team", i), text)
		client := envoytest.NewClient()
		for number := range max(copies, 20) {
			if _, err := client.Do(envoytest.Request{Address: f.address, Path: kind.path(r, number%copies)}); err != nil {
				t.Fatal(err)
			}
		}
		client.Close()
		within(kind.name+", after requests", copies, charged(t, text, manifest.OtherFile), 2)
	}
}
