package examples

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameWhatExists reads the names in backticks of all documents. A source file, a test, and what is named as
// PACKAGE.NAME must exist.
func TestDocumentsNameWhatExists(t *testing.T) {
	code := readCode(t)
	found := 0
	walkDocuments(t, func(name, text string) {
		for _, match := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(withoutCode(text), -1) {
			known, counts := code.knows(match[1])
			if counts {
				found++
			}
			if counts && !known {
				t.Errorf("%s: `%s` does not exist", name, match[1])
			}
		}
	})
	if found < 250 {
		t.Errorf("only %d names found", found)
	}
}

// TestTheSiteHasEveryDocument compares the navigation of the website with the files in docs.
func TestTheSiteHasEveryDocument(t *testing.T) {
	config, err := os.ReadFile(filepath.Join(repository, ".ci", "site", "mkdocs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +- (?:.*: )?([\w/-]+\.md)$`).FindAllStringSubmatch(string(config), -1) {
		named[match[1]] = true
	}
	pages := 0
	walkDocuments(t, func(name, _ string) {
		page, ok := strings.CutPrefix(name, "docs/")
		if !ok {
			return
		}
		if pages++; !named[page] {
			t.Errorf(".ci/site/mkdocs.yaml does not name %s", page)
		}
		delete(named, page)
	})
	for page := range named {
		t.Errorf(".ci/site/mkdocs.yaml names %s, which does not exist", page)
	}
	if pages < 50 {
		t.Errorf("only %d pages found", pages)
	}
}

// walkDocuments calls visit with the path and the text of each document, but not of the CHANGELOG, which names what was.
func walkDocuments(t *testing.T, visit func(name, text string)) {
	t.Helper()
	walkRepository(t, func(name string) {
		if path.Ext(name) == ".md" && name != "CHANGELOG.md" {
			visit(name, readText(t, name))
		}
	})
}

// walkRepository calls visit with the path of each file, but not of those that are built.
func walkRepository(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(repository, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Type().IsRegular():
			visit(filepath.ToSlash(strings.TrimPrefix(name, repository+string(filepath.Separator))))
		case entry.IsDir() && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".") && name != repository && entry.Name() != ".ci"):
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources is the code of the repository: the paths of its files and the ends of these paths, such as xds/cel.go, and the
// words of each package by the package's name.
type sources struct {
	files map[string]bool
	words map[string]map[string]bool
}

func readCode(t *testing.T) sources {
	t.Helper()
	s := sources{files: map[string]bool{}, words: map[string]map[string]bool{"": {}}}
	word := regexp.MustCompile(`\w+`)
	walkRepository(t, func(name string) {
		for i := range name {
			if i == 0 || name[i-1] == '/' {
				s.files[name[i:]] = true
			}
		}
		if path.Ext(name) != ".go" {
			return
		}
		of := path.Base(path.Dir(name))
		if s.words[of] == nil {
			s.words[of] = map[string]bool{}
		}
		for _, w := range word.FindAllString(readText(t, name), -1) {
			s.words[of][w], s.words[""][w] = true, true
		}
	})
	return s
}

// knows reports whether a name of a document exists. counts is false for a text that is no source file, no test, no
// PACKAGE.NAME and no TYPE.NAME.
func (s sources) knows(name string) (known, counts bool) {
	if regexp.MustCompile(`^[\w./-]+\.(?:go|txtar|sh|py)$`).MatchString(name) {
		return s.files[strings.TrimLeft(name, "./")], true
	}
	if regexp.MustCompile(`^(?:Test|Benchmark|Fuzz)[A-Z]\w*$`).MatchString(name) {
		return s.words[""][name], true
	}
	match := regexp.MustCompile(`^(\w+)\.([A-Za-z]\w*)(?:\.\w+)*$`).FindStringSubmatch(name)
	if match == nil {
		return false, false
	}
	if ofPackage := s.words[match[1]]; ofPackage != nil {
		return ofPackage[match[2]], true
	}
	isType := s.words[""][match[1]] && match[1] != strings.ToLower(match[1]) && match[1] != strings.ToUpper(match[1])
	return s.words[""][match[2]], isType
}
