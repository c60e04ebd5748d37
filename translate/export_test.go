package translate

import (
	"fmt"
	"reflect"
)

// Cells names every cell that is kept by an input, index, rule or fold and
// counts it, so that a test can see what leaks. It reads the maps of memo, which
// are nobody else's business, by reflection.
func (t *Translator) Cells() map[string]int {
	cells := map[string]int{}
	count := func(name string, family reflect.Value) {
		for _, field := range []string{"cells", "buckets"} {
			if m := family.FieldByName(field); m.IsValid() && m.Len() > 0 {
				cells[name] += m.Len()
			}
		}
	}
	families := reflect.ValueOf(t.engine).Elem().FieldByName("families")
	for i := range families.Len() {
		count(fmt.Sprint("family ", i), families.Index(i).Elem().Elem())
	}
	in := reflect.ValueOf(t.in).Elem()
	for i := range in.NumField() {
		if in.Field(i).Kind() == reflect.Pointer {
			count(in.Type().Field(i).Name, in.Field(i).Elem())
		}
	}
	return cells
}
