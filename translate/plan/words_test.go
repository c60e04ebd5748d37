package plan

import (
	"fmt"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The words of a setting name its old and its new value, where it has these values.
func TestWordsOfAChange(t *testing.T) {
	for values, want := range map[[2]string]string{
		{"", ""}: "changed", {"a", "a"}: "a (changed)", {"", "a"}: "added: a", {"a", ""}: "removed; before: a", {"a", "b"}: "b; before: a",
	} {
		if got := change(values[0], values[1]); got != want {
			t.Errorf("%q: %q, want %q", values, got, want)
		}
	}
}

// A port with many listeners, which are the same before and after, has its places in the new configuration.
func TestPlacesOfAPortAreCurrent(t *testing.T) {
	var listeners []ir.Listener
	for i := range 2 * maxListed {
		listeners = append(listeners, ir.Listener{Name: fmt.Sprint(i), Object: manifest.Key{Kind: "Gateway", Name: "eg"}, Index: i})
	}
	port := &ir.PortView{Port: &ir.Port{Listeners: listeners}}
	pair := portPair{ports: [2]*ir.PortView{port, port}}
	places := pair.portPlaces()
	if len(places) != maxListed {
		t.Errorf("%d places, want %d", len(places), maxListed)
	}
	for _, at := range places {
		if at.Before {
			t.Errorf("%s is in the old configuration", at.Field)
		}
	}
}
