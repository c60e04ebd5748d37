package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store"
)

// A file's problems are logged as one reads the file, whatever they are about.
func TestProblemsAreLoggedByLine(t *testing.T) {
	at := func(line int, name string) store.Problem {
		return store.Problem{File: "a.yaml", Line: line, Object: store.Key{Kind: "Service", Namespace: "default", Name: name}, Message: name}
	}
	problems := []store.Problem{at(30, "a"), at(10, "b"), at(20, "c")}
	var log bytes.Buffer
	var l problemLog
	for _, now := range [][]store.Problem{problems, nil} { // appeared, mended
		log.Reset()
		l.update(zerolog.New(&log), now)
		text := log.String()
		if first, second, third := strings.Index(text, `"line":10,`), strings.Index(text, `"line":20,`), strings.Index(text, `"line":30,`); first < 0 || first > second || second > third {
			t.Errorf("not by line:\n%s", text)
		}
	}
}
