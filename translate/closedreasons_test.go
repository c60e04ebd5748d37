package translate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryReasonFor500IsListed: whoever asks why a rule answers 500 finds each file that makes such an answer in
// docs/design/closed.md.
func TestEveryReasonFor500IsListed(t *testing.T) {
	page, err := os.ReadFile("../docs/design/closed.md")
	if err != nil {
		t.Fatal(err)
	}
	makes := regexp.MustCompile(`ir\.Respond\{Status|[&{]closing\{|xds\.Closed\(|\b[ab]\.closed\(\)|answers500\(\)`)
	// These answer otherwise, or try what Envoy reads of a match.
	others := map[string]bool{"translate/signin.go": true, "translate/xds/readable.go": true, "translate/xds/route.go": true}
	found := 0
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := "translate/" + filepath.ToSlash(path)
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || others[name] {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !makes.Match(text) {
			return err
		}
		if found++; !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s makes rules answer 500, and docs/design/closed.md does not name it", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("only %d files make rules answer 500: the test looks for the wrong words", found)
	}
}
