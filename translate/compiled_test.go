package translate_test

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gatefold/gatefold/translate/cases"
)

// TestRandomFoldersAreCompiled guards TestIncrementalEqualsCold against edits that never
// make a table long enough for leaves, or shorter again.
func TestRandomFoldersAreCompiled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	w, files := newWorld(t), map[string]string{}
	compiled, moves := map[string]bool{}, map[bool]int{}
	for range 1200 {
		randomEdit(r, files)
		w.apply(tree(files))
		for at, update := range w.resources {
			if is := cases.Compiled(update.Resource); is != compiled[at] {
				compiled[at] = is
				moves[is]++
			}
		}
	}
	if moves[true] < 5 || moves[false] < 5 {
		t.Fatalf("%d tables have come to be compiled, and %d lists again: the random edits prove nothing", moves[true], moves[false])
	}
}

// A table that grows over the length from which it is compiled, and shrinks again, is at
// each length what a cold start makes of it.
func TestTheLengthOfAList(t *testing.T) {
	w, files := newWorld(t), map[string]string{}
	name, text := document("gateway.networking.k8s.io/v1", "Gateway", "", "eg", "spec:\n  gatewayClassName: gatefold\n  listeners: [{name: http, port: 8080, protocol: HTTP}]\n")
	files[name] = text
	set := func(i int, present bool) {
		name, text := document("gateway.networking.k8s.io/v1", "HTTPRoute", "", fmt.Sprintf("r%d", i),
			fmt.Sprintf("spec:\n  parentRefs: [{name: eg}]\n  rules: [{matches: [{path: {value: /r%d}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]}]\n", i))
		if files[name] = text; !present {
			delete(files, name)
		}
		w.apply(tree(files))
		w.checkCold(t)
	}
	for i := range 70 {
		set(i, true)
		if length := i + 1; (length > 64) != w.compiled() {
			t.Errorf("compiled with %d routes: %v", length, w.compiled())
		}
	}
	for i := range 20 {
		set(i, false)
		if length := 69 - i; (length > 64) != w.compiled() {
			t.Errorf("compiled with %d routes: %v", length, w.compiled())
		}
	}
}

// A rule of a long table that ceases to hand requests on, or begins to, keeps its name: what
// it answers now takes the place of what it answered before.
func TestARuleInALongTableChangesWhatItIs(t *testing.T) {
	w, files := newWorld(t), map[string]string{}
	put := func(name, text string) { files[name] = text }
	put(document("gateway.networking.k8s.io/v1", "Gateway", "", "eg", "spec:\n  gatewayClassName: gatefold\n  listeners: [{name: http, port: 8080, protocol: HTTP}]\n"))
	for i := range 100 {
		put(document("gateway.networking.k8s.io/v1", "HTTPRoute", "", fmt.Sprintf("r%d", i),
			fmt.Sprintf("spec:\n  parentRefs: [{name: eg}]\n  rules: [{matches: [{path: {value: /r%d}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]}]\n", i)))
	}
	for round, does := range []string{
		"backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: missing}]",
		"filters: [{type: RequestRedirect, requestRedirect: {hostname: y.com}}]",
		"backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: missing}]",
		"backendRefs: [{name: missing}]",
	} {
		put(document("gateway.networking.k8s.io/v1", "HTTPRoute", "", "changing", "spec:\n  parentRefs: [{name: eg}]\n  rules: [{matches: [{path: {value: /c}}], "+does+"}]\n"))
		w.apply(tree(files))
		if w.checkCold(t); !w.compiled() {
			t.Fatalf("round %d: no table is compiled, so nothing is proved", round)
		}
	}
}

// compiled reports whether any table is.
func (w *world) compiled() bool {
	for _, update := range w.resources {
		if cases.Compiled(update.Resource) {
			return true
		}
	}
	return false
}

// One edit of one route encodes that route and the leaf that it lies in, however long
// the table is.
func TestAnEditEncodesItsLeaf(t *testing.T) {
	for _, routes := range []int{500, 4000} {
		w := newWorld(t)
		before, after := treesOf(cases.Shape{Routes: routes, Hosts: 1})
		w.apply(before)
		encoded, parts := w.translator.Encodings(), w.translator.HostParts()
		whole, once := sum(maps.Values(parts)), sum(maps.Values(encoded))
		if len(encoded) != routes || len(parts) < routes/64 || whole > 3*once {
			t.Errorf("%d routes from cold: %d encodings of %d bytes, in %d parts of %d bytes", routes, len(encoded), once, len(parts), whole)
		}
		kept := w.view // keeps what was encoded where it lies
		w.apply(after)
		newEncodings, newParts := w.translator.Encodings(), w.translator.HostParts()
		maps.DeleteFunc(newEncodings, func(at *byte, _ int) bool { return encoded[at] > 0 })
		maps.DeleteFunc(newParts, func(at *byte, _ int) bool { return parts[at] > 0 })
		if bytes := sum(maps.Values(newParts)); len(newEncodings) != 1 || len(newParts) != 2 || bytes > 32<<10 { // the frame and the leaf
			t.Errorf("an edit of one of %d routes encodes %d routes, and %d parts of %d bytes", routes, len(newEncodings), len(newParts), bytes)
		}
		runtime.KeepAlive(kept)
	}
}

func sum(numbers iter.Seq[int]) (total int) {
	for n := range numbers {
		total += n
	}
	return total
}

// Of two routes that take all requests the second is in no leaf. An edit of it sends nothing.
func TestAnEditThatNoLeafHas(t *testing.T) {
	w, files := newWorld(t), map[string]string{}
	name, text := document("gateway.networking.k8s.io/v1", "Gateway", "", "eg", "spec:\n  gatewayClassName: gatefold\n  listeners: [{name: http, port: 8080, protocol: HTTP}]\n")
	files[name] = text
	set := func(name, path, host string) {
		name, text := document("gateway.networking.k8s.io/v1", "HTTPRoute", "", name,
			fmt.Sprintf("spec:\n  parentRefs: [{name: eg}]\n  rules: [{matches: [{path: {value: %s}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: %s}}]}]\n", path, host))
		files[name] = text
	}
	for i := range 100 {
		set(fmt.Sprintf("r%d", i), fmt.Sprintf("/r%d", i), "x.com")
	}
	set("all1", "/", "x.com")
	set("all2", "/", "x.com")
	w.apply(tree(files))
	before := w.xdsText()
	set("all2", "/", "y.com")
	w.apply(tree(files))
	if w.xdsText() != before || len(w.last.Delta) > 0 {
		t.Errorf("%d resources are sent", len(w.last.Delta))
	}
	w.checkCold(t)
	w.apply(tree(files))
	w.checkCold(t)
}
