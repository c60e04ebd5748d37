package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/store/manifest"
)

// TestHelpsWork follows each help that says what to write, in the examples of the codes and in mistakes: the problem is
// gone afterwards, and its place has no other error. A text in the source that begins such a help must be the one of a
// help that was followed, or stand in unfollowed.
func TestHelpsWork(t *testing.T) {
	f := &follower{hints: map[string]bool{}}
	examples, err := filepath.Glob(filepath.Join(codeExamples, "*.txtar"))
	if err != nil || len(examples) < 100 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, name := range examples {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if flags, ok := flagsOf(archive); ok {
			t.Run(filepath.Base(name), func(t *testing.T) { f.follow(t, archive, flags) })
		}
	}
	for i, m := range mistakes() {
		t.Run(fmt.Sprintf("%d %s", i, m.wrong), func(t *testing.T) {
			text := strings.Replace(helpedFolder, m.right, m.wrong, 1)
			if text == helpedFolder {
				t.Fatalf("the folder has no %q", m.right)
			}
			if !f.follow(t, &txtar.Archive{Files: []txtar.File{{Name: "all.yaml", Data: []byte(text)}}}, nil) {
				t.Errorf("no help says what to write: %+v", problemsIn(t, &txtar.Archive{Files: []txtar.File{{Name: "all.yaml", Data: []byte(text)}}}, nil))
			}
		})
	}
	f.checkForms(t)
}

// flagsOf returns the flags of an example. ok is false where it takes more than to validate its files.
func flagsOf(archive *txtar.Archive) (flags []string, ok bool) {
	for line := range strings.Lines(string(archive.Comment)) {
		rest, is := strings.CutPrefix(strings.TrimSpace(line), "flags:")
		if !is || strings.Contains(rest, "$DIR") {
			return nil, false
		}
		flags = append(flags, strings.Fields(rest)...)
	}
	return flags, !strings.Contains(string(txtar.Format(archive)), "times, $N from 1:")
}

// follower follows helps, and remembers those that it followed.
type follower struct{ hints map[string]bool }

// follow validates the files, and follows one help after the other, each in the files as they are. It reports whether
// there was one.
func (f *follower) follow(t *testing.T, archive *txtar.Archive, flags []string) (followed bool) {
	before := problemsIn(t, archive, flags)
	for _, p := range before {
		i := slices.IndexFunc(archive.Files, func(file txtar.File) bool { return file.Name == p.File })
		if i < 0 || p.Line == 0 {
			continue
		}
		text, ok := follow(string(archive.Files[i].Data), p)
		if !ok {
			continue
		}
		followed = true
		edited := &txtar.Archive{Files: slices.Clone(archive.Files)}
		edited.Files[i].Data = []byte(text)
		for _, after := range problemsIn(t, edited, flags) {
			had := slices.ContainsFunc(before, func(b manifest.Problem) bool { return b.Code == after.Code && b.Message == after.Message })
			same := after.Code == p.Code && after.Message == p.Message
			if same || !had && after.Severity == manifest.Error && after.File == p.File && after.Line == p.Line {
				t.Errorf("the help of\n%s\nleads to\n%s", p.Text(false), after.Text(false))
			}
		}
		f.hints[p.Hint] = true
	}
	return followed
}

// problemsIn returns the problems of files.
func problemsIn(t *testing.T, archive *txtar.Archive, flags []string) []manifest.Problem {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	writeExample(t, dir, archive, false)
	found := validateExample(t, dir, flags)
	for i := range found {
		found[i].File = strings.TrimPrefix(strings.TrimPrefix(found[i].File, dir), "/")
	}
	return found
}

var (
	// settings are the `key: value` of a help.
	settings = regexp.MustCompile(`(?:did you mean|write|add|with|and|,) (apiVersion|[a-z][A-Za-z]*): ("[^"]*"|[A-Za-z][^\s,;?]*)`)
	group    = regexp.MustCompile(`write kind: \S+, of group ([a-z0-9.]+)`)
	inFront  = regexp.MustCompile(`write "([^"]*)" in front`)
	values   = regexp.MustCompile(`(?:did you mean|write one of|write|in quotes:|without quotes:) ("[^"]*"|[A-Za-z0-9/%][^\s,;?]*)(?:[?,;. ]|$)`)
	instead  = regexp.MustCompile(`write ([A-Za-z]+) in place of`)
	advice   = regexp.MustCompile(`^[a-z][A-Za-z]*$|:$|[{…]`)
)

// follow does in a text what the help of a problem says, if it says what to write.
func follow(text string, p manifest.Problem) (string, bool) {
	d := newHelpPlace(text, p)
	switch {
	case strings.Contains(p.Hint, `"key: value"`):
		d.lines[d.line] = strings.Replace(d.lines[d.line], ":", ": ", 1)
		return d.text(), true
	case strings.Contains(p.Hint, `begin each item with "- "`):
		d.list()
		return d.text(), true
	}
	if found := settings.FindAllStringSubmatch(p.Hint, -1); found != nil && !strings.Contains(p.Hint, "such as") {
		for _, s := range found {
			d.set(s[1], s[2])
		}
		if of := group.FindStringSubmatch(p.Hint); of != nil {
			d.set("group", of[1])
		}
		return d.text(), true
	}
	if front := inFront.FindStringSubmatch(p.Hint); front != nil {
		d.named(p.Message)
		d.replace(func(old string) string { return front[1] + strings.Trim(old, `"'`) })
		return d.text(), true
	}
	if to := instead.FindStringSubmatch(p.Hint); to != nil {
		d.ofKey = true
		d.replace(func(string) string { return to[1] })
		return d.text(), true
	}
	meant := strings.Contains(p.Hint, "did you mean")
	var to []string
	for _, found := range values.FindAllStringSubmatch(p.Hint, -1) {
		if to == nil && (meant || !advice.MatchString(found[1])) {
			to = found
		}
	}
	if to == nil || strings.Contains(p.Hint, "such as") {
		return "", false // words of advice
	}
	if word, err := strconv.Unquote(to[1]); err == nil && meant {
		d.toward(word, p.Message)
		to[1] = word
	}
	d.replace(func(string) string { return to[1] })
	return d.text(), true
}

// helpPlace is where a problem is in a text.
type helpPlace struct {
	lines []string
	// line is the index of its line, from and to what is marked in it, in characters.
	line, from, to int
	ofKey          bool // a help is about the key that is marked, not its value
}

func newHelpPlace(text string, p manifest.Problem) *helpPlace {
	d := &helpPlace{lines: strings.Split(text, "\n"), line: p.Line - 1, from: max(p.Column, 1) - 1, ofKey: p.Code == "UnknownField"}
	d.to = min(d.from+max(strings.Count(p.Excerpt, "^"), 1), len(d.lines[d.line]))
	for ; d.to < len(d.lines[d.line]) && d.to > 0 && isWord(d.lines[d.line][d.to-1]) && isWord(d.lines[d.line][d.to]); d.to++ {
	}
	return d
}

func isWord(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// named marks the value of the marked object that the message quotes.
func (d *helpPlace) named(message string) {
	if !strings.HasSuffix(d.lines[d.line], ":") {
		return
	}
	for i := d.line; i < min(d.line+8, len(d.lines)); i++ {
		if _, value, found := strings.Cut(d.lines[i], ": "); found && strings.Contains(message, strconv.Quote(value)) {
			d.line, d.from, d.to = i, len(d.lines[i])-len(value), len(d.lines[i])
			return
		}
	}
}

// toward marks the value of the marked object that the message names, and that is most like the word.
func (d *helpPlace) toward(word, message string) {
	if d.ofKey || !strings.HasPrefix(d.lines[d.line][d.to:], ":") {
		return
	}
	best := len(word)
	for i := d.line; i < min(d.line+5, len(d.lines)); i++ {
		_, value, found := strings.Cut(d.lines[i], ": ")
		if distance := manifest.Distance(value, word); found && distance > 0 && distance < best && strings.Contains(message, value) {
			best, d.line, d.from, d.to = distance, i, len(d.lines[i])-len(value), len(d.lines[i])
		}
	}
}

func (d *helpPlace) text() string { return strings.Join(d.lines, "\n") }

// replace replaces what is marked. If it is a key, it replaces the value, but for an unknown key.
func (d *helpPlace) replace(by func(old string) string) {
	line := d.lines[d.line]
	from, to := d.from, d.to
	if rest := line[to:]; !d.ofKey && strings.HasPrefix(rest, ": ") {
		from, to = to+2, len(line)
	}
	d.lines[d.line] = line[:from] + by(line[from:to]) + line[to:]
}

// list makes what is below the marked key the item of a list.
func (d *helpPlace) list() {
	bullet := "- "
	for i := d.line + 1; i < len(d.lines) && strings.HasPrefix(d.lines[i], strings.Repeat(" ", d.from+1)); i++ {
		d.lines[i] = d.lines[i][:d.from+2] + bullet + d.lines[i][d.from+2:]
		bullet = "  "
	}
}

var keyed = regexp.MustCompile(`^([ -]*)([A-Za-z]+):`)

// set gives a key of the object that the place is in a value.
func (d *helpPlace) set(key, value string) {
	indent := func(i int) (at int, key string) {
		parts := keyed.FindStringSubmatch(d.lines[i])
		if parts == nil {
			return -1, ""
		}
		return len(parts[1]), parts[2]
	}
	own, _ := indent(d.line)
	for _, step := range []int{-1, 1} {
		for i := d.line; i >= 0 && i < len(d.lines) && d.lines[i] != "---"; i += step {
			if at, name := indent(i); at == own && name == key {
				d.lines[i] = d.lines[i][:at] + key + ": " + value
				return
			} else if at < own {
				break
			}
			if step < 0 && strings.HasPrefix(strings.TrimLeft(d.lines[i], " "), "- ") {
				break
			}
		}
	}
	d.lines[d.line] += "\n" + strings.Repeat(" ", own) + key + ": " + value
}

// written finds the texts in the source that say what to write.
var written = regexp.MustCompile(`did you mean|\badd [A-Za-z.]+: |\b[wW]rite (?:it without quotes: |one of )?(?:"|[A-Za-z.]+: |[A-Z]+ |%[qsdv]|$)`)

// checkForms fails for each text of a help that was not followed, and is not in unfollowed.
func (f *follower) checkForms(t *testing.T) {
	t.Helper()
	all := map[string]string{}
	for _, root := range []string{"../../store", "../../translate"} {
		formsBelow(t, root, all)
	}
	reasons := unfollowed()
	for _, form := range slices.Sorted(maps.Keys(all)) {
		_, known := reasons[form]
		switch met := f.met(form); {
		case !met && !known:
			t.Errorf("%s: no help with %q was followed: add a mistake, or a reason to unfollowed", all[form], form)
		case met && known:
			t.Errorf("%s: a help with %q was followed: take it out of unfollowed", all[form], form)
		}
	}
	for form := range reasons {
		if all[form] == "" {
			t.Errorf("unfollowed has %q, which is nowhere in the source", form)
		}
	}
}

// met reports whether a help that was followed has a text of the source.
func (f *follower) met(form string) bool {
	pattern := regexp.MustCompile(`%%|%[0-9]*[a-zA-Z]`).ReplaceAllString(regexp.QuoteMeta(form), ".*")
	like := regexp.MustCompile(pattern)
	return slices.ContainsFunc(slices.Collect(maps.Keys(f.hints)), like.MatchString)
}

// formsBelow adds the texts in the source of a folder that say what to write, with their places.
func formsBelow(t *testing.T, root string, into map[string]string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"testdata", "codes", "importer", "journal", "expect"}, entry.Name()):
			return filepath.SkipDir // no problems of objects
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && written.MatchString(text) {
				into[text] = files.Position(literal.Pos()).String()
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
