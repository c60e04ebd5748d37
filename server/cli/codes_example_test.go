package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store/manifest"
)

// The comment of an example has lines `word: value`:
//
//	flags: FLAGS        of `gatefold validate`; $DIR is the folder
//	link: NAME TARGET   the folder has this symbolic link
//	serve: FLAGS        the problem is one of `gatefold serve`, after the next change:
//	then remove: NAME   the file, or the folder with ".", goes
//
// A file then/NAME is what NAME becomes by that change. Lines between `# 65 times, $N from 1:`
// and `# end` stand there once, and are written as often as they say.

// exampleText shows the files of an example, long lines and certificates cut, and the message.
func exampleText(archive *txtar.Archive, p manifest.Problem, usual map[string]string) string {
	var text strings.Builder
	shown, beside := archive.Files[:0:0], []string(nil)
	for _, f := range archive.Files {
		if usual[f.Name] == string(f.Data) && f.Name != p.File {
			beside = append(beside, f.Name)
			continue
		}
		shown = append(shown, f)
	}
	if len(shown) > 0 && beside != nil {
		fmt.Fprintf(&text, "Beside [%s](#usual-files):\n\n", strings.Join(beside, ", "))
	} else {
		shown = archive.Files
	}
	for line := range strings.Lines(string(archive.Comment)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch fields := strings.Fields(rest); word {
		case "flags":
			fmt.Fprintf(&text, "Validated with `%s`.\n\n", strings.ReplaceAll(strings.Join(fields, " "), "$DIR", "DIR"))
		case "link":
			fmt.Fprintf(&text, "`%s` is a link to `%s`.\n\n", fields[0], fields[1])
		case "serve":
			fmt.Fprintf(&text, "Found by `%s`, after the folder has changed.\n\n", strings.Join(append([]string{"gatefold serve DIR"}, fields...), " "))
		case "then remove":
			fmt.Fprintf(&text, "The change: %s is removed.\n\n", strings.ReplaceAll("`"+fields[0]+"`", "`.`", "the folder"))
		}
	}
	writeFiles(&text, shown)
	text.WriteString("\n```text\n")
	p.Excerpt = ""
	message := strings.TrimSpace(p.Text(false))
	for line := range strings.Lines(message) {
		text.WriteString(cutLine(line))
	}
	return text.String() + "\n```\n"
}

// writeFiles writes files as one block of YAML.
func writeFiles(text *strings.Builder, files []txtar.File) {
	pem := regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]+-----).*?(-----END [A-Z ]+-----)`)
	text.WriteString("```yaml\n")
	for i, f := range files {
		if i > 0 {
			text.WriteString("---\n")
		}
		if name, after := strings.CutPrefix(f.Name, "then/"); after {
			fmt.Fprintf(text, "# %s, changed\n", name)
		} else {
			fmt.Fprintf(text, "# %s\n", f.Name)
		}
		content := strings.ReplaceAll(strings.ToValidUTF8(string(f.Data), "\ufffd"), "\x00", "\u2400")
		for line := range strings.Lines(pem.ReplaceAllString(content, "$1 … $2")) {
			text.WriteString(cutLine(line))
		}
	}
	text.WriteString("```\n")
}

// usualFiles returns the files that at least ten examples have, in order of their names, and their texts by name.
func usualFiles(t *testing.T) ([]txtar.File, map[string]string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(codeExamples, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[[2]string]int{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			count[[2]string{f.Name, string(f.Data)}]++
		}
	}
	var files []txtar.File
	texts := map[string]string{}
	for file, n := range count {
		if n >= 10 {
			files = append(files, txtar.File{Name: file[0], Data: []byte(file[1])})
			texts[file[0]] = file[1]
		}
	}
	slices.SortFunc(files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	return files, texts
}

// maxLine is the longest line that the page shows, in bytes.
const maxLine = 400

func cutLine(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return line[:80] + " …\n"
}

// problemsOf returns the problems of an example: those of `gatefold validate`, or with a
// line `serve:` those that a server lists once the code is among them.
func problemsOf(t *testing.T, archive *txtar.Archive, code string) []manifest.Problem {
	t.Helper()
	// An example may remove its folder.
	dir := filepath.Join(t.TempDir(), "folder")
	writeExample(t, dir, archive, false)
	var validateFlags, serveFlags, removed []string
	served := false
	for line := range strings.Lines(string(archive.Comment)) {
		word, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(strings.ReplaceAll(rest, "$DIR", dir))
		switch word {
		case "flags":
			validateFlags = append(validateFlags, fields...)
		case "link":
			link(t, filepath.Join(dir, fields[0]), fields[1])
		case "serve":
			served, serveFlags = true, fields
		case "then remove":
			removed = append(removed, filepath.Join(dir, fields[0]))
		default:
			t.Fatalf("the comment has %q", line)
		}
	}
	var found []manifest.Problem
	if served {
		found = serveExample(t, dir, serveFlags, code, func() {
			writeExample(t, dir, archive, true)
			for _, name := range removed {
				if err := os.RemoveAll(name); err != nil {
					t.Fatal(err)
				}
			}
		})
	} else {
		found = validateExample(t, dir, validateFlags)
	}
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	for i, p := range found {
		found[i].File = strings.TrimPrefix(strings.TrimPrefix(p.File, dir), "/")
		found[i].Message = moment.ReplaceAllString(strings.ReplaceAll(p.Message, dir, "DIR"), "2026-01-01T00:00:00Z")
	}
	return found
}

func validateExample(t *testing.T, dir string, flags []string) []manifest.Problem {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(append([]string{"validate", "-o", "json", dir}, flags...), &stdout, &stderr); code == exitFailed {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var read report
	if err := json.Unmarshal(stdout.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	return read.Problems
}

// serveExample serves the folder, changes it, and returns the problems as soon as one has the code.
func serveExample(t *testing.T, dir string, flags []string, code string, change func()) (found []manifest.Problem) {
	t.Helper()
	sockets := t.TempDir()
	admin := client{address: "unix:" + filepath.Join(sockets, "admin"), timeout: patience}
	log := new(sharedLog)
	gatefold := exec.Command("gatefold", append([]string{"serve", dir, "--admin-address", admin.address,
		"--xds-address", "unix:" + filepath.Join(sockets, "xds"), "--state-dir", "none"}, flags...)...)
	gatefold.Stderr = log
	if err := gatefold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gatefold.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := gatefold.Wait(); err != nil || t.Failed() {
			t.Errorf("serve: %v\n%s", err, log)
		}
	})
	envoytest.Wait(t, "the first load", func() error {
		status, _, err := admin.get(t.Context(), "/readyz")
		if err == nil && status != 200 {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	change()
	envoytest.Wait(t, "a problem "+code, func() error {
		_, body, err := admin.get(t.Context(), "/api/v1/problems")
		if err != nil {
			return err
		}
		var page struct {
			Problems []manifest.Problem `json:"problems"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		found = page.Problems
		if !slices.ContainsFunc(found, func(p manifest.Problem) bool { return p.Code == code }) {
			return fmt.Errorf("the problems are %+v", found)
		}
		return nil
	})
	return found
}

// writeExample writes the files of an example into a folder: those of the beginning, or those
// that the change brings.
func writeExample(t *testing.T, dir string, archive *txtar.Archive, change bool) {
	t.Helper()
	for _, f := range archive.Files {
		name, later := strings.CutPrefix(f.Name, "then/")
		if later != change {
			continue
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(repeated(t, string(f.Data))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// repeated writes out the lines that stand for many.
func repeated(t *testing.T, text string) string {
	t.Helper()
	block := regexp.MustCompile(`(?ms)^ *# ([0-9,]+) times, \$N from 1:\n(.*?)^ *# end\n`)
	return block.ReplaceAllStringFunc(text, func(lines string) string {
		parts := block.FindStringSubmatch(lines)
		var all strings.Builder
		for n := range number(t, strings.ReplaceAll(parts[1], ",", "")) {
			all.WriteString(strings.ReplaceAll(parts[2], "$N", fmt.Sprint(n+1)))
		}
		return all.String()
	})
}

func link(t *testing.T, name, target string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
