// Command gitsync replaces git-sync in the test of docker-compose.yaml, which cannot get an image of git-sync.
// It reads the same environment variables, and changes the file system as git-sync v4 does. It copies a
// revision to $GITSYNC_ROOT/.worktrees/HASH. When the copy is complete, a rename makes the link $GITSYNC_LINK
// lead to it. Then gitsync removes the other trees, and runs the exechook. It runs the hook again and again
// until the hook succeeds or there is a newer revision.
//
// It does not use git. GITSYNC_REPO is a folder that has one folder for each revision. The file HEAD in it
// names the newest revision.
package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// worktrees is where git-sync keeps its trees, below its root.
const worktrees = ".worktrees"

func main() {
	period, err := time.ParseDuration(cmp.Or(os.Getenv("GITSYNC_PERIOD"), "10s"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "git-sync:", err)
		os.Exit(1)
	}
	s := syncer{repo: os.Getenv("GITSYNC_REPO"), root: os.Getenv("GITSYNC_ROOT"), link: os.Getenv("GITSYNC_LINK")}
	for ; ; time.Sleep(period) {
		if err := s.sync(); err != nil {
			fmt.Fprintln(os.Stderr, "git-sync: sync failed:", err)
		}
	}
}

// syncer publishes the revisions of one repository.
type syncer struct {
	repo, root, link string
	published        string // the revision that the link leads to
	hooked           string // the revision for which the hook succeeded
}

// sync publishes the newest revision if it is not published yet. It then runs the hook, unless the hook has
// succeeded for this revision. It returns the first error.
func (s *syncer) sync() error {
	head, err := os.ReadFile(filepath.Join(s.repo, "HEAD"))
	if err != nil {
		return err
	}
	hash := strings.TrimSpace(string(head))
	if hash != s.published {
		if err := s.publish(hash); err != nil {
			return err
		}
		fmt.Println("git-sync: updated successfully:", hash)
	}
	return s.hook()
}

func (s *syncer) publish(hash string) error {
	tree := filepath.Join(worktrees, hash)
	if err := os.RemoveAll(filepath.Join(s.root, tree)); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(s.root, tree), os.DirFS(filepath.Join(s.repo, hash))); err != nil {
		return err
	}
	fresh := filepath.Join(s.root, "tmp-link")
	if err := os.Symlink(tree, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, filepath.Join(s.root, s.link)); err != nil {
		return err
	}
	s.published = hash
	return s.removeOthers(hash)
}

func (s *syncer) removeOthers(hash string) error {
	trees, err := os.ReadDir(filepath.Join(s.root, worktrees))
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree.Name() == hash {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.root, worktrees, tree.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (s *syncer) hook() error {
	command := os.Getenv("GITSYNC_EXECHOOK_COMMAND")
	if command == "" || s.hooked == s.published {
		return nil
	}
	hook := exec.Command(command)
	hook.Dir = filepath.Join(s.root, worktrees, s.published)
	hook.Env = append(os.Environ(), "GITSYNC_HASH="+s.published)
	if out, err := hook.CombinedOutput(); err != nil {
		return fmt.Errorf("hook failed: %s: %w: %s", s.published, err, out)
	}
	s.hooked = s.published
	return nil
}
