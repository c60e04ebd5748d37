package store

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/store/manifest"
)

var update = flag.Bool("update", false, "rewrite the wanted texts in testdata")

// TestProblems loads the files of each archive in testdata/problems as one
// folder, and compares the problems, as a terminal shows them, with its part
// "want".
func TestProblems(t *testing.T) {
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files, want := map[string]string{}, ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
				} else {
					files[f.Name] = string(f.Data)
				}
			}
			var got strings.Builder
			change := newStore(t, Options{}).Apply(treeOf(files))
			for _, p := range change.Problems {
				got.WriteString(p.Text(false) + "\n")
			}
			for _, o := range change.Ignored {
				fmt.Fprintf(&got, "ignored: %d %q\n", o.Count, o.Kind)
			}
			if strings.Contains(got.String(), "hunter") {
				t.Error("a value of a Secret is shown")
			}
			if *update {
				rewrite(t, path, archive, got.String())
			} else if got.String() != want {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
}

// rewrite puts a new "want" into the archive.
func rewrite(t *testing.T, path string, archive *txtar.Archive, want string) {
	for i := range archive.Files {
		if archive.Files[i].Name == "want" {
			archive.Files[i].Data = []byte(want)
		}
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		text string
		at   place
		want string
	}{
		{"a: b\nc: d\n", place{2, 4, 1}, "c: d\n   ^"},
		{"a: b\r\nc: d\r\n", place{1, 4, 1}, "a: b\n   ^"},
		{"\ta: b\n", place{1, 5, 1}, "\ta: b\n\t   ^"},
		{"über: ß\n", place{1, 7, 1}, "über: ß\n      ^"},
		{"a: b\x1b[31m\n", place{1, 4, 2}, "a: b�[31m\n   ^^"},
		{"a: b", place{1, 9, 9}, "a: b\n    ^"},
		{"a: b", place{7, 3, 1}, "\n^"},
		{"key: " + long, place{1, 6, 300}, "key: " + long[:95] + "…\n     " + strings.Repeat("^", 95)},
		{long + ": b" + long, place{1, 304, 1}, "…" + long[:46] + ": b" + long[:51] + "…\n" + strings.Repeat(" ", 50) + "^"},
	} {
		if got := excerpt([]byte(test.text), test.at); got != test.want {
			t.Errorf("%q at %v: got\n%s\nwant\n%s", test.text, test.at, got, test.want)
		}
	}
}

// Whoever may write a file shall not steer the terminal of who validates it.
func TestTextSteersNoTerminal(t *testing.T) {
	const escape = "\x1b[2J\r\n"
	problem := manifest.Problem{
		File: "a" + escape, Line: 1, Code: "C", Message: "m" + escape, Field: "f" + escape, Hint: "h" + escape,
		Object: manifest.Key{Kind: "Service", Name: "n" + escape},
	}
	if text := problem.Text(false); strings.ContainsAny(text, "\x1b\r") || strings.Count(text, "\n") != 3 {
		t.Errorf("%q", text)
	}
}

func TestTextInColor(t *testing.T) {
	p := manifest.Problem{Code: "C", Severity: manifest.Warning, File: "f.yaml", Line: 1, Column: 2, Message: "m", Hint: "h", Excerpt: "ab\n ^"}
	want := "\x1b[1mf.yaml:1:2\x1b[0m: \x1b[1;33mwarning\x1b[0m: \x1b[1mC: m\x1b[0m\n" +
		"\x1b[34m  |\x1b[0m\n\x1b[34m1 |\x1b[0m ab\n\x1b[34m  |\x1b[0m \x1b[1;33m ^\x1b[0m\n \x1b[34m =\x1b[0m help: h\n"
	if got := p.Text(true); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of a file that is no text, no byte goes to the terminal.
func TestNoBytesOfABinaryFile(t *testing.T) {
	for name, test := range map[string]struct{ content, code, hint string }{
		"UTF-16 with a mark":       {"\xff\xfea\x00:\x00 \x00b\x00\n\x00", "InvalidUTF8", "iconv -f UTF-16 -t UTF-8"},
		"UTF-16, big end":          {"\xfe\xff\x00a\x00:\x00 \x00b\x00\n", "InvalidUTF8", "iconv"},
		"UTF-16 without a mark":    {"a\x00:\x00 \x00b\x00\n\x00", "InvalidUTF8", "iconv"},
		"a program":                {"\x7fELF\x02\x01\x01\x00\x00\x00\x00 \x1b[31m", "BinaryFile", "extension"},
		"a picture behind comment": {"# a\n\x89PNG\x00\x1b[31m\n", "BinaryFile", "extension"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := newStore(t, Options{}).Apply(treeOf(map[string]string{"a.yaml": test.content})).Problems
			if len(problems) != 1 || problems[0].Code != test.code || !strings.Contains(problems[0].Hint, test.hint) {
				t.Fatalf("%+v", problems)
			}
			if text := problems[0].Text(false); problems[0].Excerpt != "" || strings.ContainsAny(text, "\x00\x1b�") {
				t.Errorf("%q", text)
			}
		})
	}
}
