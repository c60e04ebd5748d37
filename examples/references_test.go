package examples

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const repository = ".."

// TestReferencesResolve reads all code, cases, settings and documents. A path below docs/
// that they name must exist, with its anchor; so must every relative link of a document. No
// file refers to texts that are not in the repository.
func TestReferencesResolve(t *testing.T) {
	r := references{t: t, anchors: map[string]map[string]bool{}}
	walkRepository(t, func(name string) {
		if isText(path.Base(name)) && path.Base(name) != "references_test.go" && !strings.Contains(name, "/crds/") {
			r.check(name, readText(t, name))
		}
	})
	if r.found < 100 {
		t.Errorf("only %d references found", r.found)
	}
}

func isText(name string) bool {
	switch path.Ext(name) {
	case ".go", ".txtar", ".md", ".yaml", ".yml", ".service", ".sh":
		return true
	}
	return name == "Makefile" || name == "Dockerfile"
}

// TestDocumentsAreShort bounds the two documents that everybody begins with.
func TestDocumentsAreShort(t *testing.T) {
	for name, most := range map[string]int{"README.md": 150, "ARCHITECTURE.md": 200} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > most {
			t.Errorf("%s has %d lines, more than %d: move what is for fewer readers into docs/", name, lines, most)
		}
	}
}

// references checks what files refer to. anchors caches the anchors of documents.
type references struct {
	t       *testing.T
	found   int
	anchors map[string]map[string]bool
}

func (r *references) check(name, text string) {
	dangling := regexp.MustCompile(`(?i)\bdesign\s+(?://\s*)?sections?\s+\d|\.\./shared\b|\bshared/specs\b|\b(?:delegation|envoy|reliability|policies|delivery|containers|conformance)[- ]notes\b|\bnotes,? section \d|\breview-(?:house|ux|security|explain)\b|\bspec 00\d\b`)
	for _, words := range dangling.FindAllString(text, -1) {
		r.t.Errorf("%s: %q refers to a text that is not in the repository: name a page of docs/design or a public document", name, words)
	}
	documents := regexp.MustCompile(`(?:^|[^\w/.-]|/blob/main/)(docs/[\w/.-]+\.md(?:#[\w-]+)?)`)
	for _, match := range documents.FindAllStringSubmatch(text, -1) {
		r.resolve(name, match[1])
	}
	if path.Ext(name) != ".md" {
		return
	}
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, match := range links.FindAllStringSubmatch(withoutCode(text), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		file := name
		if target != "" {
			file = path.Join(path.Dir(name), target)
		}
		if anchor != "" {
			file += "#" + anchor
		}
		r.resolve(name, file)
	}
}

// resolve fails if a path of the repository, or an anchor in it, does not exist.
func (r *references) resolve(name, target string) {
	r.found++
	file, anchor, _ := strings.Cut(target, "#")
	if _, err := os.Stat(filepath.Join(repository, filepath.FromSlash(file))); err != nil {
		r.t.Errorf("%s: %s does not exist", name, file)
	} else if anchor != "" && !r.anchorsOf(file)[anchor] {
		r.t.Errorf("%s: %s has no heading #%s", name, file, anchor)
	}
}

func (r *references) anchorsOf(file string) map[string]bool {
	if found, known := r.anchors[file]; known {
		return found
	}
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(file)))
	if err != nil {
		r.t.Error(err)
	}
	found := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(string(text)), -1) {
		words := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		found[strings.ReplaceAll(words, " ", "-")] = true
	}
	r.anchors[file] = found
	return found
}

// withoutCode removes blocks of code, in which # begins a comment.
func withoutCode(text string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
}

// TestAnnotationsAreDocumented compares docs/reference/annotations.md with the names of
// annotations, labels, options and conditions in the code.
func TestAnnotationsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs", "reference", "annotations.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("[\"`]((?:[a-z]+\\.)*(?:gatefold\\.io|kgateway\\.dev)/[A-Za-z-]+)[\"`]")
	documented, used := map[string]bool{}, map[string]bool{}
	for _, name := range names.FindAllStringSubmatch(string(page), -1) {
		documented[name[1]] = true
	}
	for _, folder := range []string{"store", "translate", "server", "envoy"} {
		for _, pattern := range []string{"*.go", "*/*.go"} {
			files, err := filepath.Glob(filepath.Join(repository, folder, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "conformance") || strings.Contains(file, "cases") {
					continue
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range names.FindAllStringSubmatch(string(text), -1) {
					used[name[1]] = true
				}
			}
		}
	}
	for name := range used {
		if !documented[name] {
			t.Errorf("docs/reference/annotations.md does not have %s", name)
		}
	}
	for name := range documented {
		if !used[name] {
			t.Errorf("docs/reference/annotations.md has %s, which the code does not have", name)
		}
	}
}
