package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

func TestMain(m *testing.M) {
	testscript.Main(guest{m}, map[string]func(){
		"gatefold": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) },
		"measured": measured,
		"page":     page,
	})
}

// page PATH asks for an admin page of the gatefold that GATEFOLD_ADMIN_ADDRESS names, and
// prints its status code.
func page() {
	asked := client{address: os.Getenv("GATEFOLD_ADMIN_ADDRESS"), timeout: patience}
	code, body, err := asked.get(context.Background(), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println(code)
	if len(os.Args) > 2 { // page PATH body
		fmt.Println(string(body))
	}
}

// guest runs tests without writing into the home of who runs them, where serve keeps
// its state by default.
type guest struct{ *testing.M }

func (g guest) Run() int {
	state, err := os.MkdirTemp("", "gatefold-state-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(state) }()
	for name, value := range map[string]string{"XDG_STATE_HOME": state, "STATE_DIRECTORY": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return g.M.Run()
}

func TestNoTestWritesIntoTheHome(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	if place, _ := (&stateOptions{dir: stateAuto}).place("/any"); strings.HasPrefix(place, filepath.Join(home, ".local")) {
		t.Errorf("serve would keep its state in %s", place)
	}
}

// TestScripts runs each command as its own process: output, exit code, JSON.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state") // the home of a script is none
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"eventually": eventually,
			"hides":      hides,
		},
	})
}

// exits CODE PROGRAM ARGS… runs a program and wants that exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", filepath.Base(args[1]), got, want)
	}
}

// hides TEXT… [in DIR] wants none of the texts in the last output, or in the files of a folder.
func hides(ts *testscript.TestScript, _ bool, args []string) {
	places := map[string]string{"stdout": ts.ReadFile("stdout"), "stderr": ts.ReadFile("stderr")}
	if at := len(args) - 2; at > 0 && args[at] == "in" {
		clear(places)
		ts.Check(filepath.WalkDir(ts.MkAbs(args[at+1]), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				places[path] = ts.ReadFile(path)
			}
			return err
		}))
		args = args[:at]
	}
	if len(strings.Join(slices.Collect(maps.Values(places)), "")) == 0 {
		ts.Fatalf("there is nothing that could show %q", args)
	}
	for place, text := range places {
		for _, hidden := range args {
			if strings.Contains(text, hidden) {
				ts.Fatalf("%s shows %q", place, hidden)
			}
		}
	}
}

// patience is how long a script waits for what must happen.
const patience = 2 * time.Minute

// eventually [!] PROGRAM ARGS… runs a program until it succeeds, or fails. In
// place of a program, "shows TEXT PROGRAM ARGS…" succeeds while TEXT, a regular
// expression, matches the program's output, whatever its exit code.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	want := args[0] != "!"
	if !want {
		args = args[1:]
	}
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(2 * envoytest.Pause(time.Since(begin))) {
		if succeeds(ts, args) == want {
			return
		}
	}
	ts.Fatalf("not within %s: %q", patience, args)
}

func succeeds(ts *testscript.TestScript, args []string) bool {
	if args[0] != "shows" {
		return ts.Exec(args[0], args[1:]...) == nil
	}
	_ = ts.Exec(args[2], args[3:]...)
	return regexp.MustCompile(args[1]).MatchString(ts.ReadFile("stdout"))
}
