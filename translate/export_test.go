package translate

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gatefold/gatefold/translate/memo"
)

func (t *Translator) inner() *translator { return t.rules.(*translator) }

// Ran returns a function that returns the rules that ran since it was called last, or since
// Ran was, as "rule key", sorted, each once.
func (t *Translator) Ran() func() []string {
	var ran []string
	t.inner().engine.Trace(func(rule string, key any) { ran = append(ran, fmt.Sprint(rule, " ", key)) }, nil)
	return func() []string {
		slices.Sort(ran)
		out := slices.Compact(ran)
		ran = nil
		return out
	}
}

// Watched makes the Translator call a function in each run of a rule, and when a fold computes a value.
func (t *Translator) Watched(fn func(family string, key any)) { t.inner().engine.Trace(fn, fn) }

// Families returns the rules and folds, and what the present values were computed from.
func (t *Translator) Families() []memo.Family { return t.inner().engine.Families() }

// Cells names every cell that is kept by an input, index, rule or fold and
// counts it, and the rows of their keys, so that a test can see what leaks. It reads
// what is in memo, which is nobody else's business, by reflection.
func (t *Translator) Cells() map[string]int {
	cells := map[string]int{}
	count := func(name string, family reflect.Value) {
		for _, field := range []string{"cells", "buckets"} {
			if table := family.FieldByName(field); table.IsValid() {
				if n := int(table.FieldByName("kept").Int()); n > 0 {
					cells[name] += n
				}
			}
		}
	}
	engine := reflect.ValueOf(t.inner().engine).Elem()
	for kinds := engine.FieldByName("keys").MapRange(); kinds.Next(); {
		keys := kinds.Value().Elem().Elem()
		if n := keys.FieldByName("byHash").Len() + keys.FieldByName("odd").Len(); n > 0 {
			cells[fmt.Sprint("rows ", keys.Type())] = n
		}
	}
	families := engine.FieldByName("families")
	for i := range families.Len() {
		count(fmt.Sprint("family ", i), families.Index(i).Elem().Elem())
	}
	for _, in := range []reflect.Value{reflect.ValueOf(t.inner().in).Elem(), reflect.ValueOf(t.inner().in.backendObjects).Elem()} {
		for i := range in.NumField() {
			if in.Field(i).Kind() == reflect.Pointer {
				count(in.Type().Field(i).Name, in.Field(i).Elem())
			}
		}
	}
	return cells
}

// TableNodes names the nodes of the ordered trees that hold the rules of all hosts,
// by where they lie, so that a test can see how many an edit has copied. What it
// returns says something as long as the View of that time is kept.
func (t *Translator) TableNodes() map[uintptr]bool {
	nodes := map[uintptr]bool{}
	var walk func(reflect.Value)
	walk = func(branch reflect.Value) {
		if branch.IsNil() {
			return
		}
		nodes[branch.Pointer()] = true
		walk(branch.Elem().FieldByName("left"))
		walk(branch.Elem().FieldByName("right"))
	}
	for host := range t.inner().last.hosts.All() {
		walk(reflect.ValueOf(host.Table).FieldByName("root"))
	}
	return nodes
}

// Encodings returns the size of each route's encoding in the tables of all hosts, by where
// it lies, so that a test can see how many bytes an edit has encoded. What it returns
// says something as long as the Translator is kept.
func (t *Translator) Encodings() map[*byte]int {
	sizes := map[*byte]int{}
	for host := range t.inner().last.hosts.All() {
		for e := range host.Table.All() {
			sizes[&e.Encoded[0]] = len(e.Encoded)
		}
	}
	return sizes
}

// HostParts returns the sizes of the encoded parts of all virtual hosts, by where they lie: a
// host that is a list is one part, a compiled one has its frame and its leaves. What it returns
// says something as long as the View of that time is kept.
func (t *Translator) HostParts() map[uintptr]int {
	sizes := map[uintptr]int{}
	for host := range t.inner().last.hosts.All() {
		parts := reflect.ValueOf(host.Encoded).FieldByName("parts")
		for i := range parts.Len() {
			sizes[parts.Index(i).Pointer()] = parts.Index(i).Len()
		}
	}
	return sizes
}
