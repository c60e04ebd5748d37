package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store/manifest"
)

// A log has what SARIF's schema asks for, and each result points to its rule and place.
func TestSARIF(t *testing.T) {
	log := sarifOf([]manifest.Problem{
		{Code: "UnknownField", Severity: manifest.Error, File: "conf/a.yaml", Line: 3, Column: 5, Message: "m", Hint: "h",
			Object: manifest.Key{Kind: "Service", Namespace: "default", Name: "s"}, Field: "spec.x", Excerpt: "    x: 1\n    ^"},
		{Code: "InvalidYAML", Severity: manifest.Error, File: "/etc/b c.yaml", Line: 1, Message: "m"},
		{Code: "UnknownField", Severity: manifest.Warning, File: "conf", Message: "m"},
		{Code: "NoFiles", Severity: manifest.Error, Message: "m"},
	})
	text, err := json.MarshalIndent(log, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	var ids []string
	for _, r := range run.Tool.Driver.Rules {
		ids = append(ids, r.ID)
		if r.ShortDescription.Text == "" || r.Help.Text == "" {
			t.Errorf("rule %s has no words", r.ID)
		}
	}
	if want := []string{"UnknownField", "InvalidYAML", "NoFiles"}; !slices.Equal(ids, want) {
		t.Errorf("rules %v, want %v", ids, want)
	}
	for i, want := range []struct {
		rule        int
		level, uri  string
		line, begin int
		end         int
	}{{0, "error", "conf/a.yaml", 3, 5, 6}, {1, "error", "file:///etc/b%20c.yaml", 1, 0, 0}, {0, "warning", "conf", 0, 0, 0}} {
		got := run.Results[i]
		place := got.Locations[0].Physical
		region := sarifRegion{}
		if place.Region != nil {
			region = *place.Region
		}
		if got.RuleIndex != want.rule || got.Level != want.level || place.Artifact.URI != want.uri ||
			region != (sarifRegion{want.line, want.begin, want.end}) || (place.Artifact.Base == "") != (i == 1) {
			t.Errorf("result %d: %+v\n%s", i, got, text)
		}
	}
	if len(run.Results) != 4 || run.Results[3].Locations != nil || run.Results[0].Message.Text != "m; h" {
		t.Errorf("%s", text)
	}
}

func TestCodeWords(t *testing.T) {
	for code, want := range map[string]string{
		"UnknownField": "Unknown field", "InvalidYAML": "Invalid YAML", "InvalidUTF8": "Invalid UTF8",
		"InvalidCACertificateRef": "Invalid CA certificate ref", "NoFiles": "No files",
	} {
		if got := codeWords(code); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// What .pre-commit-hooks.yaml runs are commands, flags and arguments that there are.
func TestPreCommitHooks(t *testing.T) {
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language, Files string
		Args                       []string
		PassFilenames              *bool `json:"pass_filenames"`
	}
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) == 0 {
		t.Fatal("no hooks")
	}
	for _, hook := range hooks {
		if hook.Language != "golang" || hook.ID == "" || hook.Files == "" {
			t.Errorf("%+v", hook)
		}
		words := append(strings.Fields(hook.Entry), hook.Args...)
		if words[0] != "gatefold" {
			t.Fatalf("%s runs %s", hook.ID, words[0])
		}
		cmd, rest, err := rootCommand().Find(words[1:])
		if err != nil || cmd.Name() != "validate" {
			t.Fatalf("%s: %v %v", hook.ID, cmd.Name(), err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", hook.ID, err)
		}
		if passes := hook.PassFilenames == nil || *hook.PassFilenames; passes == (len(cmd.Flags().Args()) > 0) {
			t.Errorf("%s: either its arguments or the names of files are what it validates", hook.ID)
		}
	}
}
