package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
)

// A panic while a journal is read sets it aside: that start, and those after it, go on without it.
func TestAPanicOfTheReaderSetsTheJournalAside(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	m := model{}
	m.write(t, j, saved("a", "1"))
	j.Close()
	before, err := os.ReadFile(filepath.Join(options.Dir, nameOfJournal))
	if err != nil {
		t.Fatal(err)
	}
	broken := options
	broken.Fingerprint = func() string { panic("a mistake") } // it is asked for while the journal is read
	j, content := open(t, broken)
	wantContent(t, content, nil, "a mistake in gatefold (at journal/")
	j.Close()
	kept, err := filepath.Glob(filepath.Join(options.Dir, asidePrefix+"*"))
	if err != nil || len(kept) != 1 || !strings.Contains(content.Problem, filepath.Base(kept[0])) {
		t.Fatalf("kept %q, %v; the problem is %s", kept, err, content.Problem)
	}
	if after, err := os.ReadFile(kept[0]); err != nil || string(after) != string(before) {
		t.Errorf("kept is %q, %v", after, err)
	}
	j, content = open(t, broken)
	wantContent(t, content, nil, "")
	j.options = options
	m = model{}
	m.write(t, j, saved("b", "2"))
	j.Close()
	_, content = open(t, options)
	wantContent(t, content, []store.Saved{saved("b", "2")}, "")
}

// failing is a file whose reading is a panic.
type failing struct{}

func (failing) Read([]byte) (int, error) { panic("a mistake") }

// A panic while a piece of a journal is read or decoded reaches the goroutine that asked for lines.
func TestAPanicOfAPieceIsOneOfTheReader(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	for range linesOf(failing{}) {
		t.Error("a line")
	}
}
