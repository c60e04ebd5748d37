package figures

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
)

// gatefold_stale_objects has a series for each stage, and for what protects and what does not, from the beginning.
func TestStaleObjectsAreCountedByStage(t *testing.T) {
	m := New()
	wants := func(stale []store.Stale, series ...string) {
		t.Helper()
		m.Published(func(string) int { return 0 }, stale, nil)
		page := m.page()
		for _, one := range series {
			if !strings.Contains(page, "gatefold_stale_objects{"+one+"\n") {
				t.Errorf("/metrics has no %s:\n%s", one, page)
			}
		}
		if strings.Count(page, "\ngatefold_stale_objects{") != 2*len(store.Stages()) {
			t.Errorf("/metrics has other series:\n%s", page)
		}
	}
	if page := m.page(); strings.Count(page, "\ngatefold_stale_objects{") != 2*len(store.Stages()) {
		t.Errorf("before anything is published: %s", page)
	}
	wants([]store.Stale{{Stage: store.StageCheck}, {Stage: store.StageCheck, Protects: true}, {Stage: store.StageCheck}, {Stage: store.StageRead, Protects: true}},
		`protects="false",stage="check"} 2`, `protects="true",stage="check"} 1`, `protects="false",stage="read"} 0`, `protects="true",stage="read"} 1`, `protects="true",stage="frozen"} 0`)
	wants(nil, `protects="false",stage="check"} 0`, `protects="true",stage="read"} 0`)
}
