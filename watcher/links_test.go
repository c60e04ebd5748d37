package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What several links lead to is read once: by its path without links, else by that of the one who owns it.
func TestLinkedOnce(t *testing.T) {
	for _, test := range []struct {
		what  string
		files []string // PATH, with the path as content
		links []string // PATH TARGET
		want  []string // PATH=CONTENT
		told  []string
	}{
		{
			"a directory of another team",
			[]string{"b/x.yaml"},
			[]string{"a/steal ../b", "0 b"},
			[]string{"b/x.yaml=b/x.yaml"},
			[]string{"0=ReadElsewhere", "a/steal=ReadElsewhere"},
		},
		{
			"directories that contain themselves",
			[]string{"a/x.yaml", "b/y.yaml"},
			[]string{"self .", "a/b ../b", "b/a ../a", "a/up .."},
			[]string{"a/x.yaml=a/x.yaml", "b/y.yaml=b/y.yaml"},
			[]string{"a/b=ReadElsewhere", "b/a=ReadElsewhere", "self=ReadElsewhere"},
		},
		{
			"a hidden directory, by the link beside it",
			[]string{"b/.h/x.yaml", "b/.h/sub/y.yaml"},
			[]string{"a/steal ../b/.h", "a/sub ../b/.h/sub", "b/link .h"},
			[]string{"b/link/sub/y.yaml=b/.h/sub/y.yaml", "b/link/x.yaml=b/.h/x.yaml"},
			[]string{"a/steal=ReadElsewhere"},
		},
		{
			"a hidden directory, by the first of two links beside it",
			[]string{".h/x.yaml"},
			[]string{"one .h", "two .h", "0 one"},
			[]string{"one/x.yaml=.h/x.yaml"},
			[]string{"0=ReadElsewhere"},
		},
		{
			"what git-sync publishes, by the fewest links",
			[]string{".worktrees/1/b/x.yaml"},
			[]string{"current .worktrees/1", "a/steal ../current/b", "a/steal2 ../.worktrees/1/b", ".worktrees/1/0 b"},
			[]string{"current/b/x.yaml=.worktrees/1/b/x.yaml"},
			[]string{"a/steal=ReadElsewhere", "current/0=ReadElsewhere"},
		},
		{
			"a mounted ConfigMap, which another team links to",
			[]string{"b/..1/x.yaml"},
			[]string{"b/..data ..1", "b/x.yaml ..data/x.yaml", "a/x.yaml ../b/..data/x.yaml", "a/y.yaml ../b/x.yaml"},
			[]string{"b/x.yaml=b/..1/x.yaml"},
			[]string{"a/x.yaml=ReadElsewhere"},
		},
		{
			"a file, by its name without links",
			[]string{"z/x.yaml"},
			[]string{"a.yaml z/x.yaml", "b/x.yaml ../z/x.yaml"},
			[]string{"z/x.yaml=z/x.yaml"},
			[]string{"a.yaml=ReadElsewhere", "b/x.yaml=ReadElsewhere"},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			root := t.TempDir()
			for _, name := range test.files {
				put(t, name, root, name)
			}
			for _, link := range test.links {
				var name, target string
				_, err := fmt.Sscan(link, &name, &target)
				must(t, err)
				must(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
				must(t, os.Symlink(target, filepath.Join(root, name)))
			}
			tree := readAll(t, root)
			wantFiles(t, tree, test.want...)
			wantSkips(t, tree, test.told...)
		})
	}
}

// All names of a file are read: only links are left out.
func TestHardLinksAreRead(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	must(t, os.Link(filepath.Join(root, "a.yaml"), filepath.Join(root, "b.yaml")))
	relink(t, "b.yaml", root, "c.yaml")
	tree := readAll(t, root)
	wantFiles(t, tree, "a.yaml=1", "b.yaml=1")
	wantSkips(t, tree, "c.yaml=ReadElsewhere")
}

// Where paths are names, as in a folder of Secrets, what links lead to is read at each of them, but not below itself.
func TestEveryPath(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".certs", "shop.crt")
	put(t, "1", root, "b", "one", "tls.crt")
	put(t, "", root, "a", "README")
	put(t, "", root, "c", "one", "README")
	put(t, "", root, "c", "two", "README")
	relink(t, "../b", root, "a", "b")
	relink(t, "../b/one", root, "a", "one")
	relink(t, ".", root, "b", "self")
	relink(t, "../../.certs/shop.crt", root, "c", "one", "tls.crt")
	relink(t, "../../.certs/shop.crt", root, "c", "two", "tls.crt")
	tree := readAll(t, root, func(o *Options) { o.EveryPath, o.Takes = true, func(name string) bool { return name == "tls.crt" } })
	wantFiles(t, tree, "a/b/one/tls.crt=1", "a/one/tls.crt=1", "b/one/tls.crt=1", "c/one/tls.crt=1", "c/two/tls.crt=1")
	wantSkips(t, tree, "a/b/self=ReadElsewhere", "b/self=ReadElsewhere")
}

// A ConfigMap and a git-sync flip, beside other links to what they publish: each file keeps its path.
func TestFlipsKeepPaths(t *testing.T) {
	root := t.TempDir()
	publish := func(rev string) {
		put(t, rev, root, "map", ".."+rev, "x.yaml")
		relink(t, ".."+rev, root, "map", "..data")
		put(t, rev, root, "git", ".worktrees", rev, "team", "y.yaml")
		relink(t, ".worktrees/"+rev, root, "git", "current")
	}
	publish("1")
	put(t, "", root, "a", "README")
	relink(t, "..data/x.yaml", root, "map", "x.yaml")
	relink(t, "../map/..data/x.yaml", root, "a", "x.yaml")
	relink(t, "../git/current/team", root, "a", "team")
	relink(t, "current/team", root, "git", "b")
	w := start(t, root)
	for i := range 5 {
		rev := fmt.Sprint(i + 2)
		wantFiles(t, w.last, fmt.Sprint("git/current/team/y.yaml=", i+1), fmt.Sprint("map/x.yaml=", i+1))
		wantSkips(t, w.last, "a/team=ReadElsewhere", "git/b=ReadElsewhere")
		publish(rev)
		must(t, removeAll(filepath.Join(root, "map", ".."+fmt.Sprint(i+1))))
		w.until("git/current/team/y.yaml="+rev, "map/x.yaml="+rev)
	}
}

// When the path by which something is read goes, it is read by the next one, and when a better one comes, by that.
func TestTheNextLinkIsRead(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".h", "x.yaml")
	put(t, "", root, "a", "README")
	relink(t, ".h", root, "one")
	relink(t, "../.h", root, "a", "two")
	w := start(t, root)
	wantFiles(t, w.last, "one/x.yaml=1")
	must(t, os.Remove(filepath.Join(root, "one")))
	w.until("a/two/x.yaml=1")
	put(t, "2", root, ".h", "x.yaml")
	w.until("a/two/x.yaml=2")
	relink(t, ".h", root, "0")
	w.until("0/x.yaml=2")
	must(t, os.RemoveAll(filepath.Join(root, "a")))
	for len(w.last.Skipped) > 0 {
		w.next()
	}
	wantFiles(t, w.last, "0/x.yaml=2")
}

// A fan of links is told in one problem for each directory, and costs a look at each of them.
func TestTenThousandLinks(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".h", "x.yaml")
	put(t, "1", root, "b", "x.yaml")
	for i := range 10_000 {
		must(t, os.MkdirAll(filepath.Join(root, "a"), 0o755))
		must(t, os.Symlink("../.h", filepath.Join(root, "a", fmt.Sprintf("l%05d", i))))
	}
	tree := readAll(t, root)
	wantFiles(t, tree, "a/l00000/x.yaml=1", "b/x.yaml=1")
	wantSkips(t, tree, "a/l00001=ReadElsewhere")
}
