package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLikeGoVersion: the document has the modules that `go version -m` lists, with their sums.
func TestLikeGoVersion(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	checkLikeGoVersion(t, program)
}

// TestOfTheProgram does the same with gatefold itself.
func TestOfTheProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := t.TempDir() + "/gatefold"
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if document := bomOf(info, "v1.2.3"); len(document.Components) < 50 || document.Metadata.Component.PURL != "pkg:golang/github.com/gatefold/gatefold@v1.2.3" {
		t.Errorf("%d components of %+v", len(document.Components), document.Metadata.Component)
	}
	checkLikeGoVersion(t, program)
}

func checkLikeGoVersion(t *testing.T, program string) {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" {
			want[f[1]+" "+f[2]] = true
		}
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(bomOf(info, "v1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Components []struct {
			Name, Version, PURL string
			Hashes              []struct{ Content string }
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for _, c := range read.Components {
		if c.Name != "stdlib" && (!want[c.Name+" "+c.Version] || len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64) {
			t.Errorf("%+v", c)
		}
		delete(want, c.Name+" "+c.Version)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
