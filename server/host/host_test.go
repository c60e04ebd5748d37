package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
)

// What an Envoy writes reaches the log with its level, at most a number of lines below error at a
// look; the last lines are kept, and the file is emptied before it grows too large.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "envoy.log")
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	tail, log := newTail(), zerolog.New(&out)
	write("warning main: half a")
	tail.look(path, log)
	if out.Len() > 0 {
		t.Errorf("half a line is told: %s", out.String())
	}
	write(" line\ncritical main: no\nAssertion\n")
	tail.look(path, log)
	want := `{"level":"warn","envoy":"main: half a line","message":"Envoy says"}
{"level":"error","envoy":"main: no","message":"Envoy says"}
{"level":"warn","envoy":"Assertion","message":"Envoy says"}
`
	if out.String() != want {
		t.Errorf("told:\n%swant:\n%s", out.String(), want)
	}

	out.Reset()
	for i := range 10 * linesAtOnce {
		write(fmt.Sprintf("info x: %d\n", i))
	}
	write("error main: behind them\n")
	tail.look(path, log)
	if lines := strings.Count(out.String(), "\n"); lines != linesAtOnce+2 || !strings.Contains(out.String(), `"lines":180`) {
		t.Errorf("%d lines are told:\n%s", lines, out.String())
	}
	if !strings.Contains(out.String(), `{"level":"error","envoy":"main: behind them"`) {
		t.Errorf("an error is left out:\n%s", out.String())
	}
	if len(tail.kept) != keptLines || tail.kept[keptLines-2] != "info x: 199" {
		t.Errorf("kept: %q", tail.kept)
	}

	write(strings.Repeat("x", 2*maxLog) + "\n")
	for range 4 {
		tail.look(path, log)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		t.Errorf("the log is not emptied: %v %v", info, err)
	}
	out.Reset()
	write("error main: after\n")
	tail.look(path, log)
	if !strings.Contains(out.String(), "after") {
		t.Error("nothing is told after the log was emptied")
	}
}

// Lines about filters that no route uses, and about ports, are told at debug, and leave out no other line.
func TestTailOfLinesThatAreNoNews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "envoy.log")
	line := "warning misc: message 'envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth' is contained in proto file " +
		"'envoy/extensions/filters/http/api_key_auth/v3/api_key_auth.proto' marked as work-in-progress. API features\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 2*linesAtOnce)+"warning main: news\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	newTail().look(path, zerolog.New(&out).Level(zerolog.InfoLevel))
	if want := `{"level":"warn","envoy":"main: news","message":"Envoy says"}` + "\n"; out.String() != want {
		t.Errorf("told:\n%swant:\n%s", out.String(), want)
	}
}

func TestFilesOfLongNamesDiffer(t *testing.T) {
	a, b := filesOf("/run/gatefold", "shop/"+strings.Repeat("a", 200)+"1"), filesOf("/run/gatefold", "shop/"+strings.Repeat("a", 200)+"2")
	if a == b || len(a.socket) > 80 {
		t.Errorf("%s and %s", a.socket, b.socket)
	}
	if got := filesOf("/run/gatefold", "shop/eg.1").run; got != "/run/gatefold/shop.eg.1.run.json" {
		t.Error(got)
	}
}

func TestRequestsUnderWay(t *testing.T) {
	stats := "http.admin.downstream_rq_active: 1\nhttp.default/eg/http-80.downstream_rq_active: 2\nhttp.x.downstream_rq_active: 3\n"
	if got := activeRequests(stats); got != 5 {
		t.Errorf("%d requests", got)
	}
}

// A folder that others can enter, or that another gatefold has, is not used.
func TestFolderIsForOneGatefold(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	lock, err := take(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(folder); err == nil || !strings.Contains(err.Error(), "another gatefold") {
		t.Errorf("taken twice: %v", err)
	}
	copied, err := syscall.Dup(int(lock.Fd())) // as a child process has it until it runs its program
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	unlock(lock)
	if lock, err = take(folder); err != nil {
		t.Fatal(err)
	}
	unlock(lock)
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := take(folder); err == nil || !strings.Contains(err.Error(), "others can enter it") {
		t.Errorf("an open folder: %v", err)
	}
}

func TestSupportedVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"1.36.4": false, "1.37.0": true, "1.38.3": true, "1.39.3-dev": true, "1.40.2": true, "1.41.0": false, "1.4.0": false, "2.40.0": false, "": false,
	} {
		if Supports(version) != want {
			t.Errorf("%q: %t", version, !want)
		}
	}
}

// What is no Envoy, or is not there, is said with what to do.
func TestNewBinary(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "envoy")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho 'envoy  version: 0a1b/1.39.2/Clean/RELEASE/BoringSSL'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if binary, err := NewBinary(t.Context(), fake); err != nil || binary.Version != "1.39.2" {
		t.Errorf("%+v %v", binary, err)
	}
	if _, err := NewBinary(t.Context(), "/bin/true"); err == nil || !strings.Contains(err.Error(), "is no Envoy") {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := NewBinary(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "run gatefold envoy install, or name one by --envoy-path") {
		t.Error(err)
	}
}
