package cli

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// faulty does to a served folder what people, editors and git-sync do, and
// notes every step. Package watcher tries each alone, and more of them.
type faulty struct {
	*served
	steps int
}

// startFaulty serves a folder whose quiet time bridges the pauses of a slow
// machine: between two system calls of one save it may be busy with others.
func startFaulty(t *testing.T, watch string) *faulty {
	t.Helper()
	f := &faulty{served: newServed(t, "steady", "edited", "moved")}
	f.change = func(o *serveOptions) { o.watch, o.quiet = watch, 2*time.Second }
	f.write("pair.yaml", f.pair("a"))
	host, _, _ := net.SplitHostPort(f.address)
	f.serve(host)
	for _, route := range []string{"steady", "edited", "moved", "head", "tail"} {
		f.waitFor(route, "a")
	}
	return f
}

// load asks for what no fault touches, and for what it may change.
func (f *faulty) load() *envoytest.Load {
	return envoytest.StartLoad(f.t, envoytest.LoadOptions{Rate: 120, Targets: []envoytest.Target{
		f.target("steady", "a"), f.target("edited", "a", "b"), f.target("moved", "a"), f.target("head", "a", "b"), f.target("tail", "a"),
	}})
}

// TestFaultsOfTheFolderUnderLoad goes through the faults of a folder one by one,
// while requests run to routes that none of them touches. Each step ends with
// an edit that Envoy follows.
func TestFaultsOfTheFolderUnderLoad(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	f := startFaulty(t, "auto")
	load := f.load()
	f.saves()
	f.directories()
	f.movedObjects()
	f.noFiles()
	f.gitLock()
	f.storm()
	f.rootGone()
	f.publishes()
	f.configMap()
	f.waitMetric("gatefold_watch_announced", 1)
	f.waitMetric("gatefold_watch_unannounced_changes_total", 0)
	wantNoFailure(t, load, 2_000)
	f.allowEmpty()
}

// TestFaultsWithoutEventsUnderLoad is the same on a mount that makes no events.
func TestFaultsWithoutEventsUnderLoad(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	f := startFaulty(t, "poll")
	load := f.load()
	f.slowly(os.O_TRUNC, "pair.yaml", f.pair("b"))
	f.waitFor("head", "b")
	f.rootGone()
	f.publishes()
	f.waitMetric("gatefold_watch_announced", 0)
	wantNoFailure(t, load, 2_000)
}

// pair has two routes: half of the file is valid YAML without /tail.
func (f *faulty) pair(backend string) string {
	return f.route("head", backend) + "---\n" + f.route("tail", "a")
}

// edit changes /edited to the other backend and waits until Envoy follows.
func (f *faulty) edit() {
	f.t.Helper()
	f.steps++
	backend := []string{"a", "b"}[f.steps%2]
	f.write("edited.yaml", f.route("edited", backend))
	f.waitFor("edited", backend)
}

// must ends the test on an error, as a step could not be done.
func (f *faulty) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// in is a path in the folder.
func (f *faulty) in(elem ...string) string {
	return filepath.Join(append([]string{f.folder}, elem...)...)
}

// slowly writes a file in two halves with a pause between them.
func (f *faulty) slowly(flags int, name, text string) {
	f.t.Helper()
	file, err := os.OpenFile(f.in(name), os.O_WRONLY|os.O_CREATE|flags, 0o644)
	f.must(err)
	half := strings.Index(text, "---")
	for _, part := range []string{text[:half], text[half:]} {
		_, err = file.WriteString(part)
		f.must(err)
		time.Sleep(30 * time.Millisecond)
	}
	f.must(file.Close())
}

// saves are the ways of vim, emacs, git, rsync and sed.
func (f *faulty) saves() {
	ways := []func(text string){
		func(text string) { f.slowly(os.O_TRUNC, "pair.yaml", text) },
		func(text string) {
			f.must(os.WriteFile(f.in("4913"), nil, 0o644))
			f.must(os.Remove(f.in("4913")))
			f.must(os.Rename(f.in("pair.yaml"), f.in("pair.yaml~")))
			f.slowly(os.O_EXCL, "pair.yaml", text)
			f.must(os.Remove(f.in("pair.yaml~")))
		},
		func(text string) {
			f.must(os.Symlink("me@host.1", f.in(".#pair.yaml")))
			f.slowly(os.O_TRUNC, "pair.yaml", text)
			f.must(os.Remove(f.in(".#pair.yaml")))
		},
		func(text string) {
			f.must(os.Remove(f.in("pair.yaml")))
			f.slowly(os.O_EXCL, "pair.yaml", text)
		},
		func(text string) {
			f.slowly(0, "pair.yaml", text)
			f.must(os.Truncate(f.in("pair.yaml"), int64(len(text))))
		},
		func(text string) { f.write("pair.yaml", text) },
	}
	for i, way := range ways {
		backend := []string{"b", "a"}[i%2]
		way(f.pair(backend))
		f.waitFor("head", backend)
	}
	if _, err := exec.LookPath("sed"); err == nil {
		f.must(exec.CommandContext(f.t.Context(), "sed", "-i", "0,/name: a}/s//name: b}/", f.in("pair.yaml")).Run())
		f.waitFor("head", "b")
	}
}

// directories come nested, move out, and come back under another name.
func (f *faulty) directories() {
	team := f.in("teams", "x", "y")
	f.must(os.MkdirAll(team, 0o755))
	f.must(os.WriteFile(filepath.Join(team, "nested.yaml"), []byte(f.route("nested", "a")), 0o600))
	f.waitFor("nested", "a")
	outside := filepath.Join(f.t.TempDir(), "teams")
	f.must(os.Rename(f.in("teams"), outside))
	f.waitGone("nested")
	f.must(os.Rename(outside, f.in("crews")))
	f.waitFor("nested", "a")
	f.must(os.Rename(f.in("crews", "x"), f.in("x")))
	f.must(os.WriteFile(f.in("x", "y", "nested.yaml"), []byte(f.route("nested", "b")), 0o600))
	f.waitFor("nested", "b")
	f.must(os.RemoveAll(f.in("x")))
	f.waitGone("nested")
}

// movedObjects moves a route from file to file and from directory to directory.
func (f *faulty) movedObjects() {
	f.must(os.Mkdir(f.in("below"), 0o755))
	for range 2 {
		f.must(os.Rename(f.in("moved.yaml"), f.in("renamed.yaml")))
		f.edit()
		f.must(os.Rename(f.in("renamed.yaml"), f.in("below", "moved.yaml")))
		f.edit()
		f.write("moved.yaml", "# it is on its way\n---\n"+f.route("moved", "a")) // in two files for a moment
		f.edit()
		f.must(os.Remove(f.in("below", "moved.yaml")))
		f.edit()
	}
}

// noFiles are things that must not be opened, followed or believed.
func (f *faulty) noFiles() {
	listener, err := net.Listen("unix", f.in("socket.yaml"))
	f.must(err)
	f.must(syscall.Mkfifo(f.in("fifo.yaml"), 0o644))
	f.must(os.Symlink("nothing.yaml", f.in("dangling.yaml")))
	f.must(os.Symlink("loop.yaml", f.in("loop.yaml")))
	f.must(os.Symlink(".", f.in("loop")))
	f.must(os.Symlink("/etc/hostname", f.in("outside.yaml")))
	f.must(os.Mkdir(f.in("folder.yaml"), 0o755))
	f.must(os.WriteFile(f.in("\xff\n\x1b[2J.yaml"), []byte(f.route("odd", "a")), 0o600))
	f.must(os.WriteFile(f.in("secret.yaml"), []byte("a: 1\n"), 0))
	f.waitFor("odd", "a")
	f.edit()
	listener.Close()
	for _, name := range []string{"fifo.yaml", "dangling.yaml", "loop.yaml", "loop", "outside.yaml", "folder.yaml", "\xff\n\x1b[2J.yaml", "secret.yaml"} {
		f.must(os.Remove(f.in(name)))
	}
	f.waitGone("odd")
}

// gitLock has git write a file without its last route, under its lock.
func (f *faulty) gitLock() {
	f.must(os.MkdirAll(f.in(".git"), 0o755))
	f.must(os.WriteFile(f.in(".git", "index.lock"), nil, 0o600))
	f.must(os.WriteFile(f.in("pair.yaml"), []byte(f.route("head", "a")), 0o600))
	time.Sleep(1500 * time.Millisecond) // a watcher that does not wait would have loaded it
	f.must(os.WriteFile(f.in("pair.yaml"), []byte(f.pair("a")), 0o600))
	f.must(os.Remove(f.in(".git", "index.lock")))
	f.waitFor("head", "a")
}

// storm makes more events than the kernel's queue holds.
func (f *faulty) storm() {
	for i := range 25_000 {
		f.must(os.Chmod(f.in([]string{"steady.yaml", "moved.yaml"}[i%2]), 0o600|os.FileMode(i/2%8)))
	}
	f.edit()
}

// rootGone empties the folder, removes it, makes it anew file by file, and
// swaps it for another: what served is held meanwhile.
func (f *faulty) rootGone() {
	next := func() string { f.steps++; return fmt.Sprint(f.folder, ".", f.steps) }
	aside := f.in(".aside")
	f.must(os.Mkdir(aside, 0o755))
	f.each(f.folder, func(name string) { f.must(os.Rename(f.in(name), filepath.Join(aside, name))) })
	f.waitHold(1)
	f.each(aside, func(name string) { f.must(os.Rename(filepath.Join(aside, name), f.in(name))) })
	f.waitHold(0)
	f.edit()

	old := next()
	f.must(os.Rename(f.folder, old))
	f.waitHold(1)
	f.must(os.Mkdir(f.folder, 0o755))
	f.each(old, func(name string) {
		f.copy(filepath.Join(old, name), f.in(name))
		time.Sleep(50 * time.Millisecond)
	})
	f.waitHold(0)
	f.edit()

	swap, old := next(), next()
	f.copy(f.folder, swap)
	f.must(os.Rename(f.folder, old))
	f.must(os.Rename(swap, f.folder))
	f.edit()
}

// each calls do with the names in a directory that are not hidden.
func (f *faulty) each(dir string, do func(name string)) {
	entries, err := os.ReadDir(dir)
	f.must(err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			do(e.Name())
		}
	}
}

// copy copies a file or a directory.
func (f *faulty) copy(from, to string) {
	f.t.Helper()
	if text, err := os.ReadFile(from); err == nil {
		f.must(os.WriteFile(to, text, 0o600))
		return
	}
	f.must(os.CopyFS(to, os.DirFS(from)))
}

// link makes name a link to target in one step, as git-sync and kubelet do.
func (f *faulty) link(target, name string) {
	f.t.Helper()
	f.must(os.Symlink(target, name+".tmp"))
	f.must(os.Rename(name+".tmp", name))
}

// publishes has the folder become a link, and git-sync publish revisions 30 ms
// apart and remove the tree before at once. Then the link leads to nothing.
func (f *faulty) publishes() {
	tree := func(i int) string { return fmt.Sprint(f.folder, ".tree", i) }
	f.must(os.Rename(f.folder, tree(0)))
	f.link(tree(0), f.folder)
	f.edit()
	backend := ""
	for i := range 30 {
		backend = []string{"a", "b"}[i%2]
		f.copy(tree(i), tree(i+1))
		f.must(os.WriteFile(filepath.Join(tree(i+1), "edited.yaml"), []byte(f.route("edited", backend)), 0o600))
		f.link(tree(i+1), f.folder)
		f.must(os.RemoveAll(tree(i)))
		time.Sleep(30 * time.Millisecond)
	}
	f.waitFor("edited", backend)
	f.link("nowhere", f.folder)
	f.waitHold(1)
	f.link(tree(30), f.folder)
	f.waitHold(0)
	f.edit()
}

// configMap serves a folder as kubelet mounts it: files are links through
// ..data, which is swapped.
func (f *faulty) configMap() {
	mount := f.folder + ".mount"
	data := func(i int) string { return filepath.Join(mount, fmt.Sprint("..", i)) }
	f.must(os.Mkdir(mount, 0o755))
	f.copy(f.folder+string(filepath.Separator), data(0))
	f.link("..0", filepath.Join(mount, "..data"))
	f.each(data(0), func(name string) { f.must(os.Symlink(filepath.Join("..data", name), filepath.Join(mount, name))) })
	f.link(mount, f.folder)
	for i := range 5 {
		backend := []string{"a", "b"}[i%2]
		f.copy(data(i), data(i+1))
		f.must(os.WriteFile(filepath.Join(data(i+1), "edited.yaml"), []byte(f.route("edited", backend)), 0o600))
		f.link(fmt.Sprint("..", i+1), filepath.Join(mount, "..data"))
		f.must(os.RemoveAll(data(i)))
		f.waitFor("edited", backend)
	}
}

// allowEmpty ends a hold by serving nothing.
func (f *faulty) allowEmpty() {
	empty := f.folder + ".empty"
	f.must(os.Mkdir(empty, 0o755))
	f.link(empty, f.folder)
	f.waitHold(1)
	f.waitFor("steady", "a")
	admin := client{address: f.admin, timeout: patience}
	for _, step := range []struct {
		page string
		want int
	}{{"/api/v1/reload", http.StatusConflict}, {"/api/v1/reload?allow-empty=true", http.StatusOK}} {
		if code, body, err := admin.ask(f.t.Context(), http.MethodPost, step.page); code != step.want {
			f.t.Errorf("%s answers %d %s %v, want %d", step.page, code, body, err, step.want)
		}
	}
	f.waitHold(0)
	envoytest.Wait(f.t, "Envoy to close the listener", func() error {
		if response, err := envoytest.Try(f.request("steady")); err == nil {
			return fmt.Errorf("status %d", response.Status)
		}
		return nil
	})
}

// waitGone waits until no route answers.
func (f *faulty) waitGone(route string) {
	f.t.Helper()
	envoytest.Wait(f.t, fmt.Sprintf("/%s to be gone", route), func() error {
		response, err := envoytest.Try(f.request(route))
		if err == nil && response.Status != http.StatusNotFound {
			err = fmt.Errorf("status %d from %q", response.Status, response.Backend)
		}
		return err
	})
}

// waitHold waits until the metric says whether the folder is held.
func (f *faulty) waitHold(want int) {
	f.t.Helper()
	f.waitMetric("gatefold_frozen", want)
}

// waitMetric waits until a metric has a value.
func (f *faulty) waitMetric(name string, want int) {
	f.t.Helper()
	admin := client{address: f.admin, timeout: patience}
	envoytest.Wait(f.t, fmt.Sprint(name, " to be ", want), func() error {
		_, body, err := admin.get(f.t.Context(), "/metrics")
		if err == nil && !strings.Contains(string(body), fmt.Sprintf("\n%s %d\n", name, want)) {
			_, after, _ := strings.Cut(string(body), "\n"+name+" ")
			value, _, _ := strings.Cut(after, "\n")
			err = fmt.Errorf("it is %q", value)
		}
		return err
	})
}
