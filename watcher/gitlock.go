package watcher

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxGitLevels limits how many directories above the folder gitLocked looks into.
const maxGitLevels = 64

// gitLocked reports whether git is changing the files of dir, a path without links: git has a file index.lock
// during that time. Like git, gitLocked looks for .git in dir, then in the directories above, at most maxGitLevels. It
// never looks below dir. In worktrees and submodules, .git is a file with the path of git's folder. gitLocked then
// looks further above, too: the repository of a submodule's parent checks out the submodule's files as well.
//
// A .git above dir is ignored if its owner is not trusted. In a folder such as /tmp, any user could create it.
func gitLocked(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	owner, up := ownerOf(info), dir
	for range maxGitLevels {
		path := filepath.Join(up, ".git")
		if info, err := os.Lstat(path); err == nil && (up == dir || trusted(ownerOf(info), owner)) {
			_, err := os.Lstat(filepath.Join(gitFolder(path, info), "index.lock"))
			if err == nil || !info.Mode().IsRegular() {
				return err == nil
			}
		}
		if up == filepath.Dir(up) {
			return false
		}
		up = filepath.Dir(up)
	}
	return false
}

func ownerOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// trusted reports whether a .git above the folder may be used. The parameters are user ids: gitOwner owns .git, and
// folderOwner owns the folder. The result is true if gitOwner is folderOwner, root, or the user of this process.
func trusted(gitOwner, folderOwner uint32) bool {
	return gitOwner == folderOwner || gitOwner == 0 || int(gitOwner) == os.Geteuid()
}

// maxGitFile limits how many bytes of a file .git are read. The file contains one path.
const maxGitFile = 8 << 10

// gitFolder returns git's folder for path, a .git directory or file. If path is a file without a valid
// reference to a folder, it returns path.
func gitFolder(path string, info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return path
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it does not block if a FIFO replaces the file
	if err != nil {
		return path
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxGitFile))
	folder, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	switch {
	case err != nil || !ok:
		return path
	case filepath.IsAbs(folder):
		return folder
	}
	return filepath.Join(filepath.Dir(path), folder)
}
