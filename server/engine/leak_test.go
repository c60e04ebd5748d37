package engine

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
)

// TestNothingIsKeptOfReloads takes edit after edit of one folder through all steps: routes
// that change, come under names of their own and go, break and are mended, and now and then
// a mistake of ours. What the pipeline holds afterwards is what it held after the first
// edits, in number and in memory.
func TestNothingIsKeptOfReloads(t *testing.T) {
	const round = 60
	const first = 10 * round
	edits := max(2*first, testsize.Of(t, 1800))
	folder, err := newReader(t.Context(), Folder{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t.Context(), folder, zerolog.Nop())
	mistaken, log := &mistaking{Server: server.New(server.Options{}, zerolog.Nop())}, &runLog{log: zerolog.Nop()}
	p.server, p.observers = mistaken, []observer{log, reports{mistaken}}
	var early map[string]int
	var earlyHeap int
	for i := 1; i <= edits/round*round; i++ {
		mistaken.now = i%round == 31
		p.reload(tree(editedFolder(i, i%round)))
		if i == first {
			early, earlyHeap = holdings(p, log), liveHeap()
		}
	}
	late, lateHeap := holdings(p, log), liveHeap()
	t.Logf("live heap after %d edits: %d KB, after %d: %d KB, %.3f times as much", first, earlyHeap/1024, edits, lateHeap/1024, float64(lateHeap)/float64(earlyHeap))
	if !maps.Equal(early, late) {
		t.Errorf("after %d edits there is %v, after %d %v", first, early, edits, late)
	}
	if grown, most := lateHeap-earlyHeap, 128*1024+8*(edits-first); grown > most || float64(lateHeap) > 1.05*float64(earlyHeap) {
		t.Errorf("the live heap grew by %d bytes in %d edits, %d are put up with", grown, edits-first, most)
	}
	if mistaken.made != edits/round {
		t.Errorf("%d mistakes were made in %d rounds", mistaken.made, edits/round)
	}
	runtime.KeepAlive(p)
}

// editedFolder is the folder after this edit, which is that of a round.
func editedFolder(edit, of int) string {
	text := oneGateway
	for i := range 10 {
		path := fmt.Sprintf("/%d", i)
		if of > 0 && i == of%10 {
			path = fmt.Sprintf("/%08d", edit)
		}
		text += "\n---\n" + strings.Replace(invalidRoute[5:], "{name: r}, spec: {oops: 1,", fmt.Sprintf("{name: r%d}, spec: {rules: [{matches: [{path: {value: %s}}]}],", i, path), 1)
	}
	switch {
	case of%6 == 1:
		text += strings.Replace(invalidRoute, "{name: r}, spec: {oops: 1,", fmt.Sprintf("{name: n%08d}, spec: {", edit), 1)
	case of%6 == 3:
		text += strings.Replace(invalidRoute, "{name: r}", fmt.Sprintf("{name: n%08d}", edit), 1)
	case of%6 == 5:
		text += fmt.Sprintf("\n---\na: [%08d", edit)
	}
	return text
}

// mistaking is a server that panics now and then.
type mistaking struct {
	*server.Server
	now  bool
	made int
}

func (m *mistaking) Reloaded(r server.Reload) {
	if r.Result == "failed" {
		m.made++
	}
	m.Server.Reloaded(r)
}

func (m *mistaking) Publish(result translate.Result) {
	if m.now {
		panic("out of luck")
	}
	m.Server.Publish(result)
}

// holdings counts what the pipeline holds beside its steps.
func holdings(p *pipeline, log *runLog) map[string]int {
	return map[string]int{
		"gone": len(p.translation.ledger.gone), "resources": len(p.translation.ledger.resources), "infra": len(p.translation.ledger.infra),
		"flaws": len(p.last.Problems), "problems": len(p.reader.standing.all), "logged": len(log.problems.known),
	}
}

func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
