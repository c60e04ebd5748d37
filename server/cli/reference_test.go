package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// compareReference compares a page of docs/reference with what it is generated from;
// UPDATE=1 writes it.
func compareReference(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "reference", name)
	got, err := os.ReadFile(file)
	if err == nil && string(got) == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("docs/reference/%s is not up to date: UPDATE=1 go test ./server/cli -run %s writes it", name, t.Name())
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCommandsReference compares docs/reference/commands.md with the commands' own help.
func TestCommandsReference(t *testing.T) {
	for _, name := range []string{"STATE_DIRECTORY", "XDG_STATE_HOME", "RUNTIME_DIRECTORY"} {
		t.Setenv(name, "")
	}
	var text strings.Builder
	flags := map[string]bool{}
	for line := range strings.Lines(helpOf(t, "serve")) {
		if _, line, ok := flagOf(line); ok {
			flags[line] = true
		}
	}
	text.WriteString("# Commands and flags\n\nThis page is what `gatefold COMMAND --help` prints. Flags that `serve` has, too, are described there alone.\n" +
		"Exit codes of all commands: 0 success, 1 problems found, 2 usage or runtime error.\n" +
		"A flag can be given in the environment, too: the variable is in brackets behind it.\n")
	for _, cmd := range allCommands(rootCommand()) {
		if cmd.IsAvailableCommand() {
			addCommand(t, &text, cmd, flags)
		}
	}
	compareReference(t, "commands.md", text.String())
}

// addCommand writes what a command prints as its help. Flags that are as those of serve are only named.
func addCommand(t *testing.T, text *strings.Builder, cmd *cobra.Command, serve map[string]bool) {
	t.Helper()
	var help strings.Builder
	var same []string
	for line := range strings.Lines(helpOf(t, strings.Fields(cmd.CommandPath())[1:]...)) {
		if name, flag, ok := flagOf(line); ok && serve[flag] && cmd.Name() != "serve" {
			same = append(same, "`"+name+"`")
			continue
		}
		help.WriteString(line)
	}
	heading := regexp.MustCompile(`(?m)^[A-Z][a-zA-Z ]*:\n\n?(\z|^$)`) // of a table of which nothing is left
	fmt.Fprintf(text, "\n## %s\n\n```text\n%s\n```\n", cmd.CommandPath(), strings.TrimSpace(heading.ReplaceAllString(help.String(), "")))
	if same != nil {
		fmt.Fprintf(text, "\nFlags as those of [gatefold serve](#gatefold-serve): %s.\n", strings.Join(same, ", "))
	}
}

func helpOf(t *testing.T, path ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(append(path, "--help"), &stdout, &stderr); code != exitFine {
		t.Fatalf("%s: exit code %d: %s", path, code, stderr.String())
	}
	return stdout.String()
}

// flagOf returns the name of the flag that a line of a help describes, and the line without the spaces of its table.
func flagOf(line string) (name, text string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "--") || !strings.HasPrefix(line, "  ") {
		return "", "", false
	}
	return fields[0], strings.Join(fields, " "), true
}

// TestMetricsReference compares docs/reference/metrics.md with the metrics in the code.
func TestMetricsReference(t *testing.T) {
	metrics := map[string]string{}
	for _, pattern := range []string{"*.go", "../*.go", "../*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				readMetrics(t, name, metrics)
			}
		}
	}
	if len(metrics) < 30 {
		t.Fatalf("only %d metrics found", len(metrics))
	}
	var text strings.Builder
	text.WriteString("# Metrics\n\n`GET /metrics` on the admin address has these, and those of the Go runtime and of the process.\n" +
		"Alarms for them are in [Operations](../operations.md#alarms-for-what-gatefold-promises).\n\n| metric | meaning |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if metrics[name] == "" {
			t.Errorf("%s has no help text", name)
		}
		fmt.Fprintf(&text, "| `%s` | %s |\n", name, strings.ReplaceAll(metrics[name], "|", "\\|"))
	}
	compareReference(t, "metrics.md", text.String())
}

// readMetrics finds the names of metrics in a file, and the help text that follows each.
func readMetrics(t *testing.T, name string, metrics map[string]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var values []ast.Expr
		switch n := n.(type) {
		case *ast.CallExpr:
			values = n.Args
		case *ast.CompositeLit:
			values = n.Elts
		}
		for i, value := range values {
			metric := literal(value)
			if strings.HasPrefix(metric, "gatefold_") && metrics[metric] == "" && i+1 < len(values) {
				metrics[metric] = literal(values[i+1])
			}
		}
		return true
	})
}

// literal returns the text of a constant expression or of a field's value, "" for others.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.KeyValueExpr:
		return literal(e.Value)
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	}
	return ""
}

// TestSettingsReference compares docs/reference/settings.md with the flags of the commands.
func TestSettingsReference(t *testing.T) {
	var text strings.Builder
	text.WriteString(`# The settings file gatefold.yaml

Values of flags can be in a file, so that CI and production do not differ. A key is the name of a flag without ` + "`--`" + `:

` + "```yaml" + `
# yaml-language-server: $schema=.gatefold/settings.json
cluster-paths: ["platform/**"]
trusted-hops: 1
warnings-as-errors: true
` + "```" + `

- **Which file.** ` + "`--config FILE`" + ` (or ` + "`$GATEFOLD_CONFIG`" + `), else ` + "`gatefold.yaml`" + ` in the working directory, where it exists. ` + "`--config none`" + ` reads none.
  The unit of the packages names ` + "`/etc/gatefold/gatefold.yaml`" + `.
- **Which goes first.** The command line, then the environment, then the file, then the default. A list replaces a list.
- **Who reads it.** Every command with ` + "`--config`" + ` in its [help](commands.md): ` + "`serve`, `validate`, `plan`, `test`, `explain`" + ` and others. A key that the
  command does not have, and another one has, is checked and not used. A server reads the file once, at its start.
- **What a value means.** What it means as a flag: a relative path begins at the working directory.
- **Mistakes** are errors with file and line, and exit code 2: unknown keys (with the nearest one), keys that are there twice,
  values of another type, aliases, more than 64 KiB.
- **In the folder that gatefold reads** the file is no configuration of the gateway. ` + "`serve`" + ` does not find it there, as others may write that folder: name it by ` + "`--config`" + `.
- **For editors**: ` + "`gatefold schema settings > .gatefold/settings.json`" + `.

| key | value | meaning |
|---|---|---|
`)
	settingFlags().VisitAll(func(f *pflag.Flag) {
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", f.Name, settingKind(f), strings.ReplaceAll(settingWords(f), "|", "\\|"))
	})
	compareReference(t, "settings.md", text.String())
}
