package watcher

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// readAll is Read of root with the default options.
func readAll(t *testing.T, root string, change ...func(*Options)) Tree {
	t.Helper()
	opt := Options{Root: root}
	for _, c := range change {
		c(&opt)
	}
	tree, err := Read(t.Context(), opt)
	must(t, err)
	return tree
}

func wantFiles(t *testing.T, tree Tree, want ...string) {
	t.Helper()
	if got := contents(tree); !slices.Equal(got, want) {
		t.Errorf("files\n got %v\nwant %v", got, want)
	}
}

func wantSkips(t *testing.T, tree Tree, want ...string) {
	t.Helper()
	if got := skips(tree); !slices.Equal(got, want) {
		t.Errorf("skipped\n got %v\nwant %v", got, want)
	}
}

func TestReadSortsByPath(t *testing.T) {
	root := t.TempDir()
	want := []string{"a-b.yaml", "a.json", "a.yml", "a/b.yaml", "a/b/c.yaml", "a0.yaml", "b.yaml"}
	for _, path := range want {
		put(t, "", root, path)
	}
	slices.Sort(want)
	tree := readAll(t, root)
	var got []string
	for f := range tree.Files.All() {
		got = append(got, f.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if tree.Root != root || tree.Missing || tree.Revision != "" || tree.Noticed.IsZero() {
		t.Errorf("Tree = %+v", tree)
	}
}

func TestReadTakesOnlyLoadableNames(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		"README.md", ".hidden.yaml", ".git/config.yaml", "x.yaml~", "#x.yaml#", ".#x.yaml", ".x.yaml.swp",
		"4913", "sedAbCdEf", "x.yaml.tmp", "x.yaml.bak", "yaml", "x.YAMLX",
	} {
		put(t, name, root, name)
	}
	put(t, "1", root, "x.yaml")
	tree := readAll(t, root)
	wantFiles(t, tree, "x.yaml=1")
	wantSkips(t, tree)
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, "", dir, "file.yaml")
	relink(t, "loop", dir, "loop")
	for name, want := range map[string]string{
		"none":      "no such file or directory",
		"file.yaml": "not a directory",
		"loop":      "too many levels of symbolic links",
	} {
		_, err := Read(t.Context(), Options{Root: filepath.Join(dir, name)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want the name and %q", name, err, want)
		}
	}
}

func TestReadLimits(t *testing.T) {
	root := t.TempDir()
	put(t, "12345", root, "a.yaml")
	put(t, "123456", root, "b.yaml")
	put(t, "1", root, "c.yaml")
	put(t, "1", root, "d.yaml")

	tree := readAll(t, root, func(o *Options) { o.Limits.FileBytes = 5 })
	wantFiles(t, tree, "a.yaml=12345", "c.yaml=1", "d.yaml=1")
	wantSkips(t, tree, "b.yaml=FileTooLarge")
	if want := "6 bytes, the limit is 5"; tree.Skipped[0].Detail != want {
		t.Errorf("Detail = %q, want %q", tree.Skipped[0].Detail, want)
	}

	tree = readAll(t, root, func(o *Options) { o.Limits.TreeBytes = 7 })
	wantFiles(t, tree, "a.yaml=12345", "c.yaml=1", "d.yaml=1")
	wantSkips(t, tree, "b.yaml=TreeTooLarge")

	tree = readAll(t, root, func(o *Options) { o.Limits.Files = 2 })
	wantFiles(t, tree, "c.yaml=1", "d.yaml=1")
	wantSkips(t, tree, "a.yaml=TreeTooLarge", "b.yaml=TreeTooLarge")
}

func TestReadDirectoryLimits(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a", "b", "c", "x.yaml")
	put(t, "1", root, "z.yaml")

	tree := readAll(t, root, func(o *Options) { o.Limits.Depth = 3 })
	wantFiles(t, tree, "z.yaml=1")
	wantSkips(t, tree, "a/b/c=TreeTooLarge")

	tree = readAll(t, root, func(o *Options) { o.Limits.Dirs = 2 })
	wantFiles(t, tree, "z.yaml=1")
	wantSkips(t, tree, "a=TreeTooLarge")
}

func TestReadSkipsWhatIsNoFile(t *testing.T) {
	root := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo.yaml"), 0o644)) // reading it would block for ever
	put(t, "1", root, "dir.yaml", "inside.yaml")
	l, err := net.Listen("unix", filepath.Join(root, "s.yaml"))
	must(t, err)
	defer l.Close()
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	put(t, "1", root, "x.yaml")

	tree := readAll(t, root)
	wantFiles(t, tree, "x.yaml=1")
	wantSkips(t, tree, "dir.yaml=NotRegularFile", "fifo.yaml=NotRegularFile", "s.yaml=NotRegularFile")
}

func TestReadLinks(t *testing.T) {
	outside := t.TempDir()
	put(t, "secret", outside, "secret.yaml")
	root := t.TempDir()
	put(t, "1", root, "real", "x.yaml")
	relink(t, "real/x.yaml", root, "alias.yaml")
	relink(t, "../real", root, "team")
	relink(t, filepath.Join(outside, "secret.yaml"), root, "secret.yaml")
	relink(t, filepath.Join("..", filepath.Base(outside), "secret.yaml"), root, "up.yaml")
	relink(t, outside, root, "folder")
	relink(t, "nothing.yaml", root, "dangling.yaml")
	relink(t, "self.yaml", root, "self.yaml")
	relink(t, outside+"/README.md", root, "README.md")
	relink(t, "nothing", root, "nowhere")
	relink(t, "real", root, "linked")

	tree := readAll(t, root)
	wantFiles(t, tree, "real/x.yaml=1")
	wantSkips(t, tree, "alias.yaml=ReadElsewhere", "dangling.yaml=Unreadable", "folder=LinkLeavesRoot", "nowhere=Unreadable", "secret.yaml=LinkLeavesRoot",
		"self.yaml=Unreadable", "team=LinkLeavesRoot", "up.yaml=LinkLeavesRoot")
	if want := "the link is not followed: what it leads to is read as real/x.yaml; nor are 1 other links of the directory ."; tree.Skipped[0].Detail != want {
		t.Errorf("Detail = %q, want %q", tree.Skipped[0].Detail, want)
	}
}

func TestReadLinkedRoot(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "trees", "abc", "a.yaml")
	relink(t, "trees/abc", base, "real")
	relink(t, filepath.Join(base, "real"), base, "current")
	tree := readAll(t, filepath.Join(base, "current"))
	wantFiles(t, tree, "a.yaml=1")
	if tree.Revision != "abc" {
		t.Errorf("Revision = %q, want the last element of the real path", tree.Revision)
	}
}

func TestSameSeesWhatATreeSays(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "rev1", "a.yaml")
	put(t, "1", base, "rev2", "a.yaml")
	put(t, "2", base, "rev3", "a.yaml")
	put(t, "1", base, "rev4", "b.yaml")
	relink(t, "rev1", base, "link1")
	relink(t, "rev2", base, "link2")

	read := func(name string) *Tree {
		tree := readAll(t, filepath.Join(base, name))
		return &tree
	}
	plain := read("rev1")
	same := func(name string) bool { return read(name).Same(plain) }
	if !same("rev2") {
		t.Error("equal content, another Tree")
	}
	for _, name := range []string{"rev3", "rev4", "link1"} {
		if same(name) {
			t.Errorf("%s: other content, path or revision, and the same Tree", name)
		}
	}
	if read("link1").Same(read("link2")) {
		t.Error("another revision, and the same Tree")
	}
	must(t, os.Symlink("/", filepath.Join(base, "rev2", "x.yaml")))
	if same("rev2") {
		t.Error("a skipped file, and the same Tree")
	}
}
