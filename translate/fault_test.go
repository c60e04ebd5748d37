package translate_test

import (
	"errors"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// TestAPanicInAnyFamilyCostsNothingElse has each rule and fold panic once, in the translation of the cases. The translation
// names what it fails at, and goes on: what is published is what a fresh Translator publishes.
func TestAPanicInAnyFamilyCostsNothingElse(t *testing.T) {
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	failed, named, families := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range all {
		w := newCaseWorld(t, c)
		for _, family := range w.translator.Families() {
			families[family.Name] = true
		}
		for _, step := range c.Steps {
			change, panicked := w.note(step.Tree(cases.Network)), false
			for {
				failing := ""
				w.translator.Watched(func(family string, _ any) {
					if failing == "" && !failed[family] {
						failing, failed[family], panicked = family, true, true
						panic(errEnough)
					}
				})
				fault := new(translate.Fault)
				err := w.translator.Take(nil, change)
				if err == nil && failing == "" {
					break
				}
				if !errors.As(err, &fault) {
					t.Fatalf("%s: %s: %v", c.Name, failing, err)
				}
				named[failing] = len(fault.Objects) > 0
				change = store.Change{}
			}
			if w.translator.Watched(nil); panicked {
				w.hear(w.translator.Apply(store.Change{}))
				w.checkCold(t)
			}
		}
	}
	objects := 0
	for family := range families {
		switch {
		case !failed[family]:
			t.Errorf("%s did not run", family)
		case named[family]:
			objects++
		}
	}
	t.Logf("%d rules and folds, of which %d name an object", len(families), objects)
	if objects < len(families)/2 {
		t.Errorf("%d of %d families name an object", objects, len(families))
	}
}
