package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// invocations are arguments for each command that ends by itself. DIR is a folder, and OUT is a path that is free.
var invocations = map[string]string{
	"bootstrap":     "default/eg",
	"completion":    "bash",
	"envoy":         "",
	"envoy install": "--from DIR/nothing --sha256 0",
	"envoy list":    "",
	"envoy use":     "0.0.1",
	"explain":       "DIR http://a.example.com:18977/",
	"hash":          "",
	"healthcheck":   "--admin-address unix:none.sock",
	"import":        "DIR --dry-run",
	"init":          "OUT",
	"lsp":           "",
	"man":           "",
	"plan":          "DIR OTHER",
	"reload":        "--server unix:none.sock",
	"schema":        "settings",
	"status":        "--server unix:none.sock",
	"test":          "DIR",
	"translate":     "DIR",
	"tree":          "DIR",
	"validate":      "DIR OTHER",
	"version":       "",
}

// TestEnvironmentNeverReplacesArguments runs every command twice: in a clean environment, and in one that sets the
// variable of every flag that belongs to one invocation, the settings of serve whose names other commands have too,
// and the address of a running gatefold. What the command line says is done in both, and the answers are equal.
func TestEnvironmentNeverReplacesArguments(t *testing.T) {
	root := rootCommand()
	var dirty []string
	settings := settingFlags()
	for _, cmd := range allCommands(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !fromEnvironment(f) && settings.Lookup(f.Name) == nil {
				dirty = append(dirty, environmentName(f.Name)+"=true")
			}
		})
	}
	dirty = append(dirty, "GATEFOLD_WATCH=poll", "GATEFOLD_SECRET_DIR=", "GATEFOLD_STATE_DIR=none",
		"GATEFOLD_SERVER=unix:elsewhere.sock", "GATEFOLD_ADMIN_ADDRESS=unix:nowhere.sock", "GATEFOLD_XDS_ADDRESS=127.0.0.1:18000")
	for _, cmd := range allCommands(root) {
		name := strings.TrimPrefix(cmd.CommandPath(), "gatefold ")
		if name == "serve" || cmd.Hidden { // TestScripts/serve: it does not end
			continue
		}
		args, known := invocations[name]
		if !known {
			t.Errorf("add arguments for gatefold %s to invocations", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean, dirtied := runIn(t, name, args, nil), runIn(t, name, args, dirty)
			if clean != dirtied {
				t.Errorf("the environment changes the answer\nclean:\n%s\nwith %s:\n%s", clean, dirty, dirtied)
			}
		})
	}
}

// runIn runs a command in a new folder and returns its exit code and output. It leaves out the warnings of variables
// that are not used.
func runIn(t *testing.T, name, args string, env []string) string {
	t.Helper()
	work := t.TempDir()
	for _, dir := range []string{"dir", "other"} {
		listener := "{name: " + dir + ", port: 18977, protocol: HTTP}"
		text := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\n" +
			"spec: {gatewayClassName: gatefold, listeners: [" + listener + "]}\n"
		if err := os.MkdirAll(filepath.Join(work, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, dir, "gateway.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args = strings.NewReplacer("DIR", "dir", "OTHER", "other", "OUT", "out").Replace(args)
	cmd := exec.Command("gatefold", append(strings.Fields(name), strings.Fields(args)...)...)
	cmd.Dir = work
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + work}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("password\n"), &stdout, &stderr
	_ = cmd.Run() // the exit code is compared
	lines := strings.SplitAfter(stderr.String(), "\n")
	said := ""
	for _, line := range lines {
		if !strings.Contains(line, "is not used") {
			said += line
		}
	}
	return strings.ReplaceAll(cmd.ProcessState.String()+"\n"+stdout.String()+said, work, "WORK")
}

// TestSettingsAreOneThing walks all commands: a setting has one type and one group of meanings, and a flag of one
// invocation has neither a variable nor a key.
func TestSettingsAreOneThing(t *testing.T) {
	settings := settingFlags()
	for _, cmd := range allCommands(rootCommand()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			hasVariable := strings.Contains(f.Usage, "[$"+environmentPrefix)
			switch {
			case hasVariable != (isSetting(f) || f.Name == configFlag):
				t.Errorf("gatefold %s --%s: a variable in its help: %t, a setting: %t", cmd.Name(), f.Name, hasVariable, isSetting(f))
			case isSetting(f) && settings.Lookup(f.Name).Value.Type() != f.Value.Type():
				t.Errorf("gatefold %s --%s is a %s, and a %s elsewhere", cmd.Name(), f.Name, f.Value.Type(), settings.Lookup(f.Name).Value.Type())
			}
		})
	}
}
