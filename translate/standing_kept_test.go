package translate

import (
	"runtime"
	"testing"
	"weak"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
)

// Standings keep no rooms of before an edit: otherwise memory grows with each edit of a team's rule.
func TestStandingsForgetRoomsBeforeAnEdit(t *testing.T) {
	source := &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "team", Name: "a"}, Outside: true}
	at := func(weight int32) *entry {
		return &entry{Rule: &ir.Rule{Name: "a", Weight: weight, Root: source, Source: source, Position: []int{0, 0}}}
	}
	change := func(s standings, from, to int32) standings {
		s, _ = s.apply([]memo.Member[string, *entry]{{ID: "a", Change: memo.Change[*entry]{Had: from != to, Has: true, Old: at(from), New: at(to)}}})
		return s
	}
	s := change(standings{}, 0, 0)
	first := weak.Make(s.room(roomKey{Namespace: "team"}))
	for weight := range int32(3) {
		s = change(s, weight, weight+1)
	}
	runtime.GC()
	if first.Value() != nil {
		t.Error("the first room is still kept")
	}
	runtime.KeepAlive(s)
}
