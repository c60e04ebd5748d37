package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The commands of docs/guides/import.md run as they are written, on testdata/importguide.exports in place of what
// kubectl prints: each names objects that are there, imports and validates.
func TestImportGuideRuns(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/import.md")
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := txtar.ParseFile("testdata/importguide.exports")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, found := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		t.Chdir(t.TempDir()) // a folder for each block: import writes into empty folders
		for line := range strings.Lines(strings.ReplaceAll(string(found[1]), "\\\n", " ")) {
			args := strings.Fields(line)
			switch args[0] {
			case "kubectl":
				checkKubectl(t, args, inputs)
				continue
			case "gatefold":
			default:
				t.Errorf("the guide has the command %q", line)
				continue
			}
			if len(args) > 2 && args[1] == "import" {
				writeInputs(t, inputs, args[2], strings.Contains(line, "--accept"))
			}
			runGuideCommand(t, args[1:], line)
			ran[args[1]]++
		}
	}
	if ran["import"] < 5 || ran["validate"] < 2 {
		t.Errorf("the guide has the commands %v, more are known", ran)
	}
}

// runGuideCommand runs a command. What is refused is told by the exit code, but all that the command names is there.
func runGuideCommand(t *testing.T, args []string, line string) {
	t.Helper()
	var expanded []string
	for _, arg := range args {
		if files, _ := filepath.Glob(arg); len(files) > 0 {
			expanded = append(expanded, files...)
		} else {
			expanded = append(expanded, arg)
		}
	}
	var stdout, stderr bytes.Buffer
	code := Main(expanded, &stdout, &stderr)
	if code > exitFindings || args[0] == "validate" && code != exitFine || strings.Contains(stdout.String(), "names nothing that is there") {
		t.Errorf("%s: exit code %d\n%s%s", line, code, &stdout, &stderr)
	}
	for i, arg := range args {
		if service, _, ok := strings.Cut(arg, "="); ok && args[i-1] == "--replace-service" {
			namespace, name, _ := strings.Cut(service, "/")
			if _, err := os.Stat(filepath.Join("folder", namespace, "backend-"+name+".yaml")); err != nil {
				t.Error(err)
			}
		}
	}
}

// checkKubectl wants the kinds of the input among those that the guide has kubectl print.
func checkKubectl(t *testing.T, args []string, inputs *txtar.Archive) {
	t.Helper()
	source, kinds := "cluster", strings.Join(args, " ")
	if strings.Contains(kinds, "ingresses") {
		source = "ingress"
	}
	for _, file := range inputs.Files {
		if !strings.HasPrefix(file.Name, source+"/export") {
			continue
		}
		for _, kind := range regexp.MustCompile(`(?m)^kind: (\w+)`).FindAllSubmatch(file.Data, -1) {
			plural := strings.TrimSuffix(strings.ToLower(string(kind[1])), "s")
			if !strings.Contains(kinds, plural) {
				t.Errorf("%s does not print the kind %s", kinds, kind[1])
			}
		}
	}
}

// writeInputs writes the files of a source as an export, or as they are for Traefik. Policies are in the export for
// commands that accept some of them.
func writeInputs(t *testing.T, inputs *txtar.Archive, source string, policies bool) {
	t.Helper()
	export := ""
	for _, file := range inputs.Files {
		name, ok := strings.CutPrefix(file.Name, source+"/")
		if !ok || strings.HasPrefix(name, "policies") && !policies {
			continue
		}
		if source != sourceTraefik {
			export, name = export+"---\n"+string(file.Data), "export.yaml"
			file.Data = []byte(export)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
