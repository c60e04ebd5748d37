package store

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// editing changes a folder of many files, one file at a time. After a whole round every
// file is as it was before, while all that came and went in between had names, lines and
// texts that never come again.
type editing struct {
	tree  watcher.Tree
	edits int
}

const (
	editedFiles = 50
	editsOfOne  = 10
	editsRound  = editedFiles * editsOfOne
)

func newEditing() *editing {
	e := &editing{tree: treeOf(nil)}
	for i := range editedFiles {
		e.write(i, e.sound(i))
	}
	return e
}

// sound is the text of a file to which every round returns.
func (e *editing) sound(i int) string {
	text := ""
	for j := range 4 {
		text += route(fmt.Sprintf("r%d-%d", i, j), fmt.Sprintf("/%d/%d", i, j)) + "---\n"
	}
	return text
}

func (e *editing) path(i int) string { return fmt.Sprintf("f%02d.yaml", i) }

func (e *editing) write(i int, text string) {
	file := watcher.File{Path: e.path(i), Content: []byte(text), Hash: sha256.Sum256([]byte(text))}
	e.tree.Files = e.tree.Files.With([]watcher.File{file}, nil)
}

// next makes one edit. Every file has the first kind of edit before one has the second.
func (e *editing) next() {
	i, kind, n := e.edits%editedFiles, e.edits/editedFiles%editsOfOne, e.edits
	e.edits++
	text := e.sound(i)
	switch kind {
	case 0: // of a route
		text = strings.Replace(text, fmt.Sprintf("/%d/1", i), fmt.Sprintf("/new/%08d", n), 1)
	case 1: // of a comment alone
		text = strings.Repeat("#\n", n%7) + fmt.Sprintf("# %08d\n", n) + text
	case 2: // an object comes, and goes with the next
		text += route(fmt.Sprintf("n%08d", n), "/n")
	case 3: // the text breaks: what was in it is kept
		text = fmt.Sprintf("a: [%08d\n---\n", n) + text[strings.Index(text, "---\n")+4:]
	case 4: // one object is refused, one belongs to others
		text += strings.Replace(route(fmt.Sprintf("n%08d", n), "/n"), "spec:", "spec:\n  oops: 1", 1) +
			fmt.Sprintf("---\n{apiVersion: of.others/v1, kind: K%08d, metadata: {name: a}}\n", n)
	case 5: // one has a definition in the next file too
		text += route(fmt.Sprintf("r%d-0", (i+1)%editedFiles), fmt.Sprintf("/twice/%08d", n))
	case 6: // the same again, elsewhere in the file
		text = strings.Repeat("\n", 1+n%9) + text
	case 7: // gone
		e.tree.Files = e.tree.Files.With(nil, []string{e.path(i)})
		return
	case 8: // back, as a list
		text = listOf(strings.Split(strings.TrimSuffix(text, "---\n"), "---\n")...)
	}
	e.write(i, text)
}

// holdings counts what a Store holds.
func (s *Store) holdings() map[string]int {
	definitions := 0
	for _, list := range s.serving.found {
		definitions += len(list)
	}
	return map[string]int{
		"files": len(s.sources.files), "flawed": len(s.sources.flawed), "served": len(s.serving.served), "keys": len(s.serving.found), "definitions": definitions,
		"contested": len(s.serving.contested), "kept": len(s.serving.kept), "refusals": len(s.serving.rejected), "invalid": len(s.serving.invalid),
		"outside": len(s.fence.outside), "trespassing": len(s.fence.foundOutside), "unsaved": len(s.saves.unsaved), "absent": len(s.saves.absent),
		"places": len(s.problemLists.places), "problems": len(s.problemLists.problems()), "located": len(s.problemLists.located),
	}
}

// TestNothingIsKeptOfEdits makes many edits of all kinds: what a Store holds at the end of a
// round is what it held at the end of an early one, in number and in memory.
func TestNothingIsKeptOfEdits(t *testing.T) {
	const first = 2 * editsRound
	edits := max(2*first, testsize.Of(t, 4000))
	s, e, saved := newStore(t, saving), newEditing(), ledger{}
	s.Apply(e.tree)
	var early map[string]int
	var earlyHeap, worst int
	for e.edits < edits || e.edits%editsRound != 0 {
		e.next()
		worst = max(worst, len(s.Apply(e.tree).Problems))
		saved.take(s)
		s.Locate([]manifest.Problem{{Object: keyOfRoute("r0-0"), Field: "spec", Message: fmt.Sprint(e.edits)}})
		if e.edits == first {
			early, earlyHeap = s.holdings(), liveHeap()
		}
	}
	late, lateHeap := s.holdings(), liveHeap()
	t.Logf("live heap after %d edits: %d KB, after %d: %d KB, %.3f times as much", first, earlyHeap/1024, e.edits, lateHeap/1024, float64(lateHeap)/float64(earlyHeap))
	if !maps.Equal(early, late) {
		t.Errorf("after %d edits there is %v, after %d %v", first, early, e.edits, late)
	}
	if grown, most := lateHeap-earlyHeap, 64*1024+8*(e.edits-first); grown > most || float64(lateHeap) > 1.05*float64(earlyHeap) {
		t.Errorf("the live heap grew by %d bytes in %d edits, %d are put up with", grown, e.edits-first, most)
	}
	if worst < editedFiles || late["problems"] != 0 || len(saved) != late["served"] {
		t.Errorf("at worst there were %d problems, %d at last; %d objects are saved, %d serve", worst, late["problems"], len(saved), late["served"])
	}
	runtime.KeepAlive(s)
}

func keyOfRoute(name string) manifest.Key {
	return manifest.Key{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "default", Name: name}
}

func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
