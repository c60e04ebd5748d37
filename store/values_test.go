package store

import (
	"strings"
	"testing"
)

// TestValuesTellLinesOfTheFile wants the lines of a problem, also those in its message, to count from the beginning of
// the file.
func TestValuesTellLinesOfTheFile(t *testing.T) {
	values, problems := Values([]byte("a: 1\n---\nb: 1\nc%d: 2\nc%d: 3\n"))
	if len(values) != 1 || len(problems) != 1 {
		t.Fatalf("%+v, %+v", values, problems)
	}
	if p := problems[0]; p.Line != 5 || !strings.Contains(p.Message, `"c%d" is written twice here, first in line 4`) {
		t.Errorf("line %d: %s", p.Line, p.Message)
	}
}
