package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/store/codes"
	"github.com/gatefold/gatefold/store/manifest"
)

const codeExamples = "../../store/codes/testdata"

// exampleless returns the codes that no example shows, because `gatefold validate` cannot find
// them in a small folder that every user can read.
func exampleless() map[string]string {
	serving, large := "only while serving", "only in a large folder"
	return map[string]string{
		"BeingWritten": serving, "FolderEmptied": serving, "FolderMissing": serving, "InternalError": serving,
		"LastGoodKept": serving, "RejectedByEnvoy": serving, "RevisionInvalid": serving, "TooManyEnvoys": serving,
		"DocumentTooLarge": large, "ManyRulesOfOnePath": large, "MoreProblems": large, "TooManyCopies": large, "TooManyPolicies": large, "TooManyLinks": large,
		"UnservedVersion": "UnknownVersion is found first",
		"Unreadable":      "only for a user without the right to read a file",
	}
}

// TestProblemsReference validates the example of each code, wants that code from it, and
// compares docs/reference/problems.md with the entries, examples and messages.
func TestProblemsReference(t *testing.T) {
	hidden, entries := exampleless(), codes.All()
	sections := make([]string, len(entries))
	t.Run("examples", func(t *testing.T) {
		for i, entry := range entries {
			archive, err := txtar.ParseFile(filepath.Join(codeExamples, entry.Name+".txtar"))
			if why, none := hidden[entry.Name]; none {
				sections[i] = codeSection(entry) + "It has no example here: it is found " + why + ".\n"
				if err == nil {
					t.Errorf("%s has an example: take it out of the list of those that have none", entry.Name)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: no example: %v", entry.Name, err)
				continue
			}
			t.Run(entry.Name, func(t *testing.T) {
				t.Parallel()
				found := validateExample(t, archive)
				at := slices.IndexFunc(found, func(p manifest.Problem) bool { return p.Code == entry.Name })
				if at < 0 {
					t.Fatalf("not among the problems found: %+v", found)
				}
				if entry.Severity != codes.Either && string(entry.Severity) != string(found[at].Severity) {
					t.Errorf("it is %s here, and the entry says %s", found[at].Severity, entry.Severity)
				}
				sections[i] = codeSection(entry) + exampleText(archive, found[at])
			})
		}
	})
	if !t.Failed() {
		compareReference(t, "problems.md", problemsHead+strings.Join(sections, "\n"))
	}
}

const problemsHead = `# Problem codes

Each problem that gatefold finds has a code. This page has every code: what causes it, what it
means for traffic, how to fix it, and an example with the message that ` + "`gatefold validate`" + ` prints for it.
Nothing else stops for a problem: other objects are served, and the last valid version of the object stays in force.

`

func codeSection(e codes.Entry) string {
	return fmt.Sprintf("## %s\n\n*%s.* %s\n\n**Fix:** %s\n\n", e.Name, e.Severity, e.Cause, e.Fix)
}

// exampleText shows the files of an example, long lines and certificates cut, and the message.
func exampleText(archive *txtar.Archive, p manifest.Problem) string {
	var text strings.Builder
	for line := range strings.Lines(string(archive.Comment)) {
		if flags, ok := strings.CutPrefix(line, "flags: "); ok {
			fmt.Fprintf(&text, "Validated with `%s`.\n\n", strings.TrimSpace(strings.ReplaceAll(flags, "$DIR", "DIR")))
		}
		if link, ok := strings.CutPrefix(line, "link: "); ok {
			from, to, _ := strings.Cut(strings.TrimSpace(link), " ")
			fmt.Fprintf(&text, "`%s` is a link to `%s`.\n\n", from, to)
		}
	}
	pem := regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]+-----).*?(-----END [A-Z ]+-----)`)
	text.WriteString("```yaml\n")
	for i, f := range archive.Files {
		if i > 0 {
			text.WriteString("---\n")
		}
		fmt.Fprintf(&text, "# %s\n", f.Name)
		content := strings.ReplaceAll(strings.ToValidUTF8(string(f.Data), "\ufffd"), "\x00", "\u2400")
		for line := range strings.Lines(pem.ReplaceAllString(content, "$1 … $2")) {
			text.WriteString(cutLine(line))
		}
	}
	fmt.Fprintf(&text, "```\n\n```text\n")
	p.Excerpt = ""
	message := strings.TrimSpace(p.Text(false))
	for line := range strings.Lines(message) {
		text.WriteString(cutLine(line))
	}
	return text.String() + "\n```\n"
}

// maxLine is the longest line that the page shows, in bytes.
const maxLine = 400

func cutLine(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return line[:80] + " …\n"
}

// validateExample writes the files of an example into a folder and validates it. The
// archive's comment has the flags, with $DIR for the folder, and the links.
func validateExample(t *testing.T, archive *txtar.Archive) []manifest.Problem {
	t.Helper()
	dir := t.TempDir()
	args := []string{"validate", "-o", "json", dir}
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(string(archive.Comment)) {
		word, rest, _ := strings.Cut(line, ": ")
		switch fields := strings.Fields(rest); word {
		case "flags":
			args = append(args, strings.Fields(strings.ReplaceAll(rest, "$DIR", dir))...)
		case "link":
			if err := os.Symlink(fields[1], filepath.Join(dir, fields[0])); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("the comment has %q", line)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := Main(args, &stdout, &stderr); code == exitFailed {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var read report
	if err := json.Unmarshal(stdout.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	for i, p := range read.Problems {
		read.Problems[i].File = strings.TrimPrefix(strings.TrimPrefix(p.File, dir), "/")
		read.Problems[i].Message = strings.ReplaceAll(p.Message, dir, "DIR")
	}
	return read.Problems
}
