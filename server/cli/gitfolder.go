package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/watcher"
)

// gitPrefix is the prefix of an argument that names a commit instead of a folder.
const gitPrefix = "git:"

// errNew means that the commit does not contain the folder.
var errNew = errors.New("the commit does not have the folder")

// checkOut writes the folder options.Root, in the version of a commit, to a new temporary folder. The caller
// must remove the new folder. If the commit does not contain the folder, the error is errNew, and the new
// folder is empty. After any other error, there is no new folder and the result is "".
//
// checkOut reads the objects of git. It runs no hook or filter, changes nothing in the repository, and writes
// no file outside of the new folder. It leaves out symbolic links and submodules. Limits and ignore patterns
// are those of options.
func checkOut(ctx context.Context, revision string, options watcher.Options) (folder string, err error) {
	dir := options.Root
	prefix, err := git(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil {
		return "", fmt.Errorf("git:%s needs a folder in a git repository: %s is in none that can be read (%w)", visible.Text(revision), visible.Text(dir), err)
	}
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("git:%s is no commit of the repository with %s", visible.Text(revision), visible.Text(dir))
	}
	if folder, err = os.MkdirTemp("", "gatefold-plan-"); err != nil {
		return "", err
	}
	tree := strings.TrimSpace(commit) + ":" + strings.TrimSuffix(prefix, "\n")
	if _, err := git(ctx, dir, "cat-file", "-e", tree); err != nil {
		return folder, errNew
	}
	if err := writeTree(ctx, tree, folder, options); err != nil {
		_ = os.RemoveAll(folder)
		return "", err
	}
	return folder, nil
}

// writeTree writes files of a git tree into a folder: those that the watcher would read, and the ignore file. It
// returns an error if git fails, if the files exceed the limits of options, or if a file cannot be written.
func writeTree(ctx context.Context, tree, folder string, options watcher.Options) error {
	list, err := git(ctx, options.Root, "ls-tree", "-r", "-l", "-z", "--full-tree", tree)
	if err != nil {
		return err
	}
	files, err := gitFiles(list)
	if err != nil {
		return err
	}
	var ignore []byte
	if i := slices.IndexFunc(files, func(f gitFile) bool { return f.path == watcher.IgnoreFile }); i >= 0 {
		text, err := git(ctx, options.Root, "cat-file", "blob", files[i].object)
		if err != nil {
			return err
		}
		ignore = []byte(text)
	}
	reads, limits := options.Selects(ignore), options.Limits.WithDefaults()
	files = slices.DeleteFunc(files, func(f gitFile) bool { return f.path != watcher.IgnoreFile && !reads(f.path) })
	left := limits.TreeBytes
	for _, f := range files {
		if left -= min(f.size, limits.FileBytes); left < 0 || len(files) > limits.Files+1 {
			return fmt.Errorf("the commit has more than %d files or %d bytes (--max-files, --max-tree-bytes)", limits.Files, limits.TreeBytes)
		}
	}
	return writeBlobs(ctx, options.Root, folder, files, limits)
}

// gitFile is a file in a commit.
type gitFile struct {
	object, path string
	size         int64
}

// gitFiles parses the output of git ls-tree -l -z: entries "MODE TYPE OBJECT SIZE\tPATH", each ended by NUL. It
// leaves out symbolic links and submodules. It returns an error if a size is not a number.
func gitFiles(list string) (files []gitFile, err error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		words := strings.Fields(about)
		if len(words) != 4 || words[1] != "blob" || words[0] == "120000" {
			continue
		}
		size, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git ls-tree: %w", err)
		}
		files = append(files, gitFile{object: words[2], path: path, size: size})
	}
	return files, nil
}

// writeBlobs writes files of the repository into a folder (the parameter folder). No path of a file can lead out
// of that folder. The parameter dir is the folder in the repository in which git runs. A file that is larger than
// the limit is cut one byte above the limit, so that the watcher still rejects the file as too large. The error
// means that git failed or that a file cannot be written.
func writeBlobs(ctx context.Context, dir, folder string, files []gitFile, limits watcher.Limits) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	var names strings.Builder
	for _, file := range files {
		names.WriteString(file.object + "\n")
	}
	cmd := gitCommand(ctx, dir, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(names.String())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	blobs := bufio.NewReader(stdout)
	for _, file := range files {
		if err := writeBlob(root, file.path, blobs, limits.FileBytes+1); err != nil {
			_ = cmd.Cancel() // git still runs, because its output was not read to the end
			_ = cmd.Wait()
			return fmt.Errorf("%s in git: %w", visible.Text(file.path), err)
		}
	}
	return cmd.Wait()
}

// writeBlob reads the next file from the output of git cat-file --batch, and writes it to the given path in root.
// The parameter most is the highest number of bytes to write; writeBlob skips the rest of the file. In the output,
// a file is "NAME TYPE SIZE", a line end, SIZE bytes, and a line end. The error means that the output is
// incomplete, or that the file cannot be written.
func writeBlob(root *os.Root, path string, blobs *bufio.Reader, most int64) error {
	head, err := blobs.ReadString('\n')
	if err != nil {
		return err
	}
	words := strings.Fields(head)
	size, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err != nil {
		return fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
	}
	if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.CopyN(out, blobs, min(size, most)); err != nil {
		return err
	}
	_, err = blobs.Discard(int(size - min(size, most) + 1))
	return err
}

// git runs git in the folder dir and returns its output. The error contains the output to stderr.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := gitCommand(ctx, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, visible.Text(strings.TrimSpace(stderr.String())))
	}
	return stdout.String(), nil
}

// gitCommand returns a git command that never prompts, downloads nothing and runs no hook.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "--no-optional-locks", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1")
	return cmd
}
