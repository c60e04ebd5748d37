package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/store/codes"
	"github.com/gatefold/gatefold/store/manifest"
)

const codeExamples = "../../store/codes/testdata"

// exampleless returns the codes that no folder shows by itself, and what each takes.
func exampleless() map[string]string {
	return map[string]string{
		"BeingWritten":       "while another program writes a file",
		"EnvoyTooOld":        "while an Envoy is connected that lacks what a rule needs",
		"FileReplaced":       "in a container, for a file that is mounted by itself",
		"InternalError":      "when gatefold itself has a fault",
		"InvalidTest":        "by `gatefold test`, in a file of tests",
		"NoEffectInKgateway": "by `gatefold validate --for`",
		"NotInKgateway":      "by `gatefold validate --for`",
		"NoTests":            "by `gatefold serve --gate-tests`",
		"TestFailed":         "by `gatefold serve --gate-tests`, in a file of tests",
		"TestsFailed":        "by `gatefold serve --gate-tests`",
		"TestsIgnored":       "by `gatefold serve --gate-tests`",
		"RejectedByEnvoy":    "while an Envoy is connected that rejects what others accept",
		"RevisionFrozen":     "by an Envoy of stage canary",
		"TooManyEnvoys":      "by `gatefold serve --envoy`",
		"Unreadable":         "for a user without the right to read a file",
		"WaitsFor":           "by `gatefold serve`, while an edit is not applied",
		"SectionInUse":       "by `gatefold serve`, while an edit is not applied",
		"EnvoyVulnerable":    "while an Envoy is connected whose version has published vulnerabilities",
	}
}

// TestProblemsReference validates the example of each code, wants that code from it, and
// compares docs/reference/problems.md with the entries, examples and messages.
func TestProblemsReference(t *testing.T) {
	hidden, entries := exampleless(), codes.All()
	files, usual := usualFiles(t)
	sections := make([]string, len(entries))
	t.Run("examples", func(t *testing.T) {
		for i, entry := range entries {
			archive, err := txtar.ParseFile(filepath.Join(codeExamples, entry.Name+".txtar"))
			if why, none := hidden[entry.Name]; none {
				sections[i] = codeSection(entry) + "It has no example here: it is found only " + why + ".\n"
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
				found := problemsOf(t, archive, entry.Name)
				at := slices.IndexFunc(found, func(p manifest.Problem) bool { return p.Code == entry.Name })
				if at < 0 {
					t.Fatalf("not among the problems found: %+v", found)
				}
				if entry.Severity != codes.Either && string(entry.Severity) != string(found[at].Severity) {
					t.Errorf("it is %s here, and the entry says %s", found[at].Severity, entry.Severity)
				}
				sections[i] = codeSection(entry) + exampleText(archive, found[at], usual)
			})
		}
	})
	if !t.Failed() {
		var head strings.Builder
		head.WriteString(problemsHead)
		writeFiles(&head, files)
		compareReference(t, "problems.md", head.String()+"\n"+strings.Join(sections, "\n"))
	}
}

const problemsHead = `# Problem codes

Each problem that gatefold finds has a code. This page has every code: what causes it, what it
means for traffic, and how to fix it. A problem that a folder shows by itself has an example, with
the message that ` + "`gatefold validate`" + ` prints for it.
Nothing else stops for a problem: other objects are served, and the last valid version of the object stays in force.

## Usual files

Most examples have these files, too. They are shown where the problem is in them.

`

func codeSection(e codes.Entry) string {
	return fmt.Sprintf("## %s\n\n*%s.* %s\n\n**Fix:** %s\n\n", e.Name, e.Severity, e.Cause, e.Fix)
}
