package engine

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store/manifest"
)

// A file's problems are logged as one reads the file, whatever they are about.
func TestProblemsAreLoggedByLine(t *testing.T) {
	at := func(line int, name string) manifest.Problem {
		return manifest.Problem{File: "a.yaml", Line: line, Object: manifest.Key{Kind: "Service", Namespace: "default", Name: name}, Message: name}
	}
	problems := []manifest.Problem{at(30, "a"), at(10, "b"), at(20, "c")}
	var log bytes.Buffer
	var l problemLog
	for _, now := range [][]manifest.Problem{problems, nil} { // appeared, mended
		log.Reset()
		l.update(zerolog.New(&log), now)
		text := log.String()
		if first, second, third := strings.Index(text, `"line":10,`), strings.Index(text, `"line":20,`), strings.Index(text, `"line":30,`); first < 0 || first > second || second > third {
			t.Errorf("not by line:\n%s", text)
		}
	}
}

// What is fixed is said as such, and what gatefold did meanwhile is not said again.
func TestWhatIsFixedIsLogged(t *testing.T) {
	stale := manifest.Problem{Code: "LastGoodKept", File: "a.yaml", Message: "gatefold still serves the last valid version of a and b"}
	less := stale
	less.Message = "gatefold still serves the last valid version of a"
	mistake := manifest.Problem{Code: "UnknownField", File: "a.yaml", Message: "unknown field"}
	var log bytes.Buffer
	var l problemLog
	l.update(zerolog.New(&log), []manifest.Problem{stale, mistake, {Code: "FolderEmptied", Message: "folder conf is empty"}})
	for _, step := range []struct {
		now  []manifest.Problem
		want string
	}{
		{[]manifest.Problem{less}, "fixed: unknown field; fixed: gatefold follows the folder again"},
		{nil, "fixed: no object of the file is stale"},
	} {
		log.Reset()
		l.update(zerolog.New(&log), step.now)
		var got []string
		for line := range strings.Lines(log.String()) {
			if _, message, ok := strings.Cut(line, `"message":"fixed: `); ok {
				got = append(got, "fixed: "+strings.TrimRight(message, "\"}\n"))
			}
		}
		slices.Sort(got)
		want := strings.Split(step.want, "; ")
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
