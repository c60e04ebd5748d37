package translate_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/cases"
)

// openRows is how many sentences of the specifications have no proof yet. It
// only ever gets smaller.
const openRows = 0

// specFolder returns the folder of the specifications' texts, which GATEFOLD_SPECS names.
// Their addresses are in docs/design/README.md.
func specFolder() string { return os.Getenv("GATEFOLD_SPECS") }

// A page is testdata/SPEC.md: documents of sections of rows.
type page map[string][]section // by number of the document

type section struct {
	heading string
	prose   string
	rows    []specRow
}

// specRow is a sentence and what proves it.
type specRow struct {
	place        string // document and heading
	quote, proof string
	names        []string // of the proof: cases and Go tests
}

// TestSpecHasProofs reads testdata/SPEC.md: each sentence has a proof that
// exists, or says what is open; and each case that names a specification proves
// one of its sentences.
func TestSpecHasProofs(t *testing.T) {
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	tests := goTests(t)
	unnamed := map[string]bool{}
	known := map[string]bool{}
	for _, c := range all {
		known[c.Name] = true
		unnamed[c.Name] = namesSpec.MatchString(c.Heading)
	}
	open := 0
	for _, row := range readPage(t).rows() {
		if strings.HasPrefix(row.proof, "open: ") {
			open++
			continue
		}
		if wrong := row.check(known, tests); wrong != "" {
			t.Errorf("%s: %q: %s", row.place, row.quote, wrong)
		}
		for _, name := range row.names {
			delete(unnamed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unnamed)) {
		if unnamed[name] {
			t.Errorf("%s.txtar names a specification, and no row names the case", name)
		}
	}
	if open != openRows {
		t.Errorf("%d open rows, want %d: the number only ever gets smaller", open, openRows)
	}
}

// TestSpecQuotesAreLiteral holds SPEC.md against the documents: it has all their
// headings in their order, and each quote stands under its heading, once.
func TestSpecQuotesAreLiteral(t *testing.T) {
	if _, err := os.Stat(specFolder()); err != nil {
		t.Skipf("SKIPPED: the quotes of testdata/SPEC.md are not held against the specifications: %v", err)
	}
	page, said := readPage(t), map[string]string{}
	for document, sections := range page {
		spec := readSpec(t, document)
		if got, want := headings(sections), headings(spec); !slices.Equal(got, want) {
			t.Errorf("headings of %s:\n%q, want\n%q", document, got, want)
		}
		for _, s := range spec {
			said[document+", "+s.heading] = s.prose
		}
	}
	seen := map[string]bool{}
	for _, row := range page.rows() {
		if !strings.Contains(said[row.place], row.quote) {
			t.Errorf("%s: does not say %q", row.place, row.quote)
		}
		if quote := row.place[:3] + row.quote; seen[quote] {
			t.Errorf("%s: %q is said twice", row.place, row.quote)
		} else {
			seen[quote] = true
		}
	}
}

// rows returns every row.
func (p page) rows() []specRow {
	var out []specRow
	for _, document := range slices.Sorted(maps.Keys(p)) {
		for _, s := range p[document] {
			out = append(out, s.rows...)
		}
	}
	return out
}

func headings(sections []section) []string {
	var out []string
	for _, s := range sections {
		out = append(out, s.heading)
	}
	return out
}

var (
	namesSpec = regexp.MustCompile(`EP-10943|GEP-1058|EP-11466|\b00[023]\b`)
	deviation = regexp.MustCompile(`^deviation \(\[\w+\]\(\.\./\.\./docs/design/\w+\.md(#[\w-]+)?\)\): `)
	proofName = regexp.MustCompile("`([^`]+)`")
	onlyNames = regexp.MustCompile("^`[^`]+`(, `[^`]+`)*$")
	goTest    = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	title     = regexp.MustCompile(`^(#+) (.*)$`)
)

// check tells what is wrong with a row's proof.
func (r specRow) check(known map[string]bool, tests map[string][]string) string {
	if !deviation.MatchString(r.proof) && !onlyNames.MatchString(r.proof) {
		return "want `names`, deviation ([page](../../docs/design/page.md)): … `names`, or open: …, got " + r.proof
	}
	if len(r.names) == 0 {
		return "no case and no test"
	}
	for _, name := range r.names {
		test, script, isScript := strings.Cut(name, "/")
		switch {
		case known[name]:
		case !isScript && len(tests[test]) > 0:
		case isScript && slices.ContainsFunc(tests[test], func(folder string) bool {
			_, err := os.Stat(filepath.Join(folder, "testdata", script+".txtar"))
			return err == nil
		}):
		default:
			return "neither a case nor a test: " + name
		}
	}
	return ""
}

// goTests returns the folders of each test of the repository by its name.
func goTests(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range goTest.FindAllStringSubmatch(string(text), -1) {
			out[match[1]] = append(out[match[1]], filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile("testdata/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	out := page{}
	for document := range strings.SplitSeq(string(text), "\n## ") {
		number, body, ok := strings.Cut(document, ": ")
		if !ok || len(number) != 3 {
			continue // what stands before the first document
		}
		out[number] = sectionsOf(body)
		for i := range out[number] {
			s := &out[number][i]
			if s.rows = rowsOf(number+", "+s.heading, s.prose); len(s.rows) == 0 && !strings.HasPrefix(strings.TrimSpace(s.prose), "States no behaviour") {
				t.Errorf("%s, %s: neither rows nor why there are none", number, s.heading)
			}
		}
	}
	if len(out) != 3 {
		t.Fatalf("%d documents in SPEC.md, want 3", len(out))
	}
	return out
}

// readSpec returns the sections of a document, whitespace folded.
func readSpec(t *testing.T, number string) []section {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(specFolder(), number+"_*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("document %s in %s: %v, %v", number, specFolder(), files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	sections := sectionsOf(string(text))
	for i := range sections {
		sections[i].prose = folded(sections[i].prose)
	}
	return sections
}

// sectionsOf splits at headings outside of code, but for the title.
func sectionsOf(text string) []section {
	var out []section
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if match := title.FindStringSubmatch(strings.TrimSpace(line)); match != nil && !code {
			if match[1] != "#" {
				out = append(out, section{heading: match[2]})
			}
		} else if len(out) > 0 {
			out[len(out)-1].prose += line
		}
	}
	return out
}

// rowsOf reads a table of three columns; \| and \< are a | and a < of a cell.
func rowsOf(place, text string) []specRow {
	var out []specRow
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| Sentence |") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			out = append(out, specRow{place: place, quote: line, proof: "another number of columns"})
			continue
		}
		row := specRow{place: place, proof: strings.TrimSpace(cells[2])}
		row.quote = strings.NewReplacer("\x00", "|", `\<`, "<").Replace(folded(cells[1]))
		for _, match := range proofName.FindAllStringSubmatch(row.proof, -1) {
			row.names = append(row.names, match[1])
		}
		out = append(out, row)
	}
	return out
}

func folded(text string) string { return strings.Join(strings.Fields(text), " ") }
