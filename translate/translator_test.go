package translate

import (
	"reflect"
	"testing"
)

// TestImportersDoNotCompileRules guards docs/design/rules.md#compile-time: a field of Translator that is not an
// interface makes every importing package compile the rules again.
func TestImportersDoNotCompileRules(t *testing.T) {
	translator := reflect.TypeFor[Translator]()
	for i := range translator.NumField() {
		if field := translator.Field(i); field.Type.Kind() != reflect.Interface {
			t.Errorf("Translator.%s is a %s, not an interface", field.Name, field.Type)
		}
	}
}
