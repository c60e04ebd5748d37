package watcher

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// gitRepo makes a repository with two revisions, r0 and r1, of conf/eu/prod/a.yaml and z.yaml.
func gitRepo(t *testing.T, repo string) {
	t.Helper()
	must(t, os.MkdirAll(repo, 0o755))
	run(t, repo, "git", "init", "-q")
	put(t, "z.yaml filter=slow\n", repo, ".gitattributes")
	for rev := range 2 {
		for _, name := range []string{"a.yaml", "z.yaml"} {
			put(t, fmt.Sprint(rev), repo, "conf", "eu", "prod", name)
		}
		run(t, repo, "git", "add", ".")
		run(t, repo, "git", "commit", "-qm", "x")
		run(t, repo, "git", "tag", fmt.Sprint("r", rev))
	}
	run(t, repo, "git", "checkout", "-q", "r0")
}

// TestACheckoutInPlaceIsOneTree has git itself change the folder, and be slow with its second file: what is published
// next has both. The folder is three levels below the repository, or belongs to a worktree or a submodule.
func TestACheckoutInPlaceIsOneTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git on this machine")
	}
	for name, lay := range map[string]func(base string) (tree string){
		"three levels below": func(base string) string { return filepath.Join(base, "repo") },
		"worktree": func(base string) string {
			run(t, filepath.Join(base, "repo"), "git", "worktree", "add", "-q", filepath.Join(base, "tree"), "r0")
			return filepath.Join(base, "tree")
		},
		"submodule": func(base string) string {
			parent := filepath.Join(base, "parent")
			must(t, os.MkdirAll(parent, 0o755))
			run(t, parent, "git", "init", "-q")
			run(t, parent, "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(base, "repo"), "sub")
			return filepath.Join(parent, "sub")
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			gitRepo(t, filepath.Join(base, "repo"))
			tree := lay(base)
			root := filepath.Join(tree, "conf", "eu", "prod")
			w := start(t, root, func(o *Options) { o.Quiet, o.MaxAdd = 300*time.Millisecond, 300*time.Millisecond })
			wantFiles(t, w.last, "a.yaml=0", "z.yaml=0")
			resume := filepath.Join(base, "resume")
			cmd := exec.Command("git", "-c", "filter.slow.smudge=while [ ! -e '"+resume+"' ]; do sleep 0.02; done; cat", "checkout", "-q", "r1")
			cmd.Dir = tree
			must(t, cmd.Start())
			for content := ""; content != "1"; time.Sleep(time.Millisecond) {
				text, _ := os.ReadFile(filepath.Join(root, "a.yaml")) // it is not there for a moment
				content = string(text)
			}
			time.Sleep(time.Second) // a watcher that does not wait would have read it
			put(t, "", resume)
			must(t, cmd.Wait())
			w.next()
			wantFiles(t, w.last, "a.yaml=1", "z.yaml=1")
		})
	}
}

// TestAGitFileOfATeamLocksNothing: below the folder anybody may write one.
func TestAGitFileOfATeamLocksNothing(t *testing.T) {
	base := t.TempDir()
	put(t, "", base, "own", "index.lock")
	root := filepath.Join(base, "conf")
	put(t, "gitdir: "+filepath.Join(base, "own")+"\n", root, "teams", "a", ".git")
	put(t, "", root, "teams", "b", ".git", "index.lock")
	if gitLocked(root) {
		t.Error("a team's .git locks the folder")
	}
	put(t, "gitdir: "+filepath.Join(base, "own")+"\n", root, ".git")
	if !gitLocked(root) {
		t.Error("that of the folder itself does not")
	}
}

// TestTheParentOfASubmoduleLocksIt: a checkout with --recurse-submodules is one of the parent's.
func TestTheParentOfASubmoduleLocksIt(t *testing.T) {
	base := t.TempDir()
	put(t, "gitdir: ../.git/modules/sub\n", base, "sub", ".git")
	put(t, "", base, ".git", "index.lock")
	if !gitLocked(filepath.Join(base, "sub")) {
		t.Error("it does not")
	}
}
