package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/watcher"
)

// standardInput is the argument that means standard input. stdinName is its displayed name in problems.
const (
	standardInput = "-"
	stdinName     = "stdin"
)

// inputs are the arguments of validate. Each folder is read separately. All files are read together.
type inputs struct {
	dirs, files []string
	stdin       io.Reader
}

// sortInputs separates folders from files. "-" counts as a file. It returns an error if an argument does not
// exist.
func sortInputs(args []string, stdin io.Reader) (inputs, error) {
	in := inputs{stdin: stdin}
	for _, arg := range args {
		if arg == standardInput {
			in.files = append(in.files, arg)
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			return in, fmt.Errorf("%s: %w", visible.Text(arg), rootCause(err))
		case info.IsDir():
			in.dirs = append(in.dirs, arg)
		default:
			in.files = append(in.files, arg)
		}
	}
	return in, nil
}

// read reads all inputs and returns their combined result, with sorted problems. A folder that has neither files
// nor problems gives a problem (see noFiles). The function place returns the path of a file or folder as it is
// displayed. read returns an error if an input cannot be read or a flag is invalid.
func (in inputs) read(ctx context.Context, o folderOptions, place func(string) string) (reading, error) {
	var all reading
	for _, dir := range in.dirs {
		o.prefix = place(dir)
		read, err := readFolder(ctx, dir, o)
		if err != nil {
			return all, err
		}
		if read.Stats.Files == 0 && len(read.Problems) == 0 {
			read.Problems = []manifest.Problem{noFiles(dir)}
		}
		all.add(read)
	}
	if len(in.files) > 0 {
		read, err := in.readFiles(ctx, o, place)
		if err != nil {
			return all, err
		}
		all.add(read)
	}
	manifest.SortProblems(all.Problems)
	return all, nil
}

// add adds the result of reading another input (the parameter other) to r.
func (r *reading) add(other reading) {
	r.Stats.Files += other.Stats.Files
	r.Stats.Objects += other.Stats.Objects
	r.unchecked += other.unchecked
	r.Problems, r.Objects = append(r.Problems, other.Problems...), append(r.Objects, other.Objects...)
	for _, o := range other.Ignored {
		same := func(known store.Ignored) bool { return known.Kind == o.Kind }
		if i := slices.IndexFunc(r.Ignored, same); i >= 0 {
			r.Ignored[i].Count += o.Count
		} else {
			r.Ignored = append(r.Ignored, o)
		}
	}
	slices.SortFunc(r.Ignored, func(a, b store.Ignored) int { return strings.Compare(a.Kind, b.Kind) })
}

// readFiles translates all files that the command line names (in.files) in one translation. Path policies (see
// package tenancy) do not apply to these files. The files may refer to objects in files that are not given. So a
// problem that another file may solve is not reported, but only counted in the field unchecked. A file is left out,
// with a problem, if it is larger than the limit for one file, or larger than what is left of the limit for all
// files. readFiles returns an error if a file cannot be read or a flag is invalid.
func (in inputs) readFiles(ctx context.Context, o folderOptions, place func(string) string) (reading, error) {
	tree := watcher.Tree{}
	var files []watcher.File
	left := o.tree.TreeBytes
	for _, name := range in.files {
		shown := stdinName
		if name != standardInput {
			shown = place(name)
		}
		limit := min(o.tree.FileBytes, left)
		content, err := in.readFile(name, limit)
		if err != nil {
			return reading{}, err
		}
		if int64(len(content)) > limit {
			tree.Skipped = append(tree.Skipped, watcher.Skip{
				Path: shown, Reason: watcher.TooLarge, Detail: fmt.Sprintf("more than %d bytes, which is the limit", limit),
			})
			continue
		}
		left -= int64(len(content))
		files = append(files, watcher.File{Path: shown, Content: content, Hash: sha256.Sum256(content)})
	}
	tree.Files = watcher.FilesOf(files...)
	o.prefix, o.guard.clusterPaths = "", nil // path policies do not apply to single files
	folder, err := o.folder("")
	if err != nil {
		return reading{}, err
	}
	folder.Foresee = o.foresee
	all, err := engine.ReadTree(ctx, folder, tree)
	if err != nil {
		return reading{}, err
	}
	read := reading{Reading: all}
	read.Problems = slices.DeleteFunc(slices.Clone(all.Problems), func(p manifest.Problem) bool { return mayDependOnOtherFiles(p.Code) })
	read.unchecked = len(all.Problems) - len(read.Problems)
	return read, nil
}

// readFile returns the content of a file or of standard input. If the content has more than limit bytes, readFile
// returns only limit+1 bytes, so that the caller sees that the file is too large. The error means that the file
// cannot be read.
func (in inputs) readFile(name string, limit int64) ([]byte, error) {
	from := in.stdin
	if name != standardInput {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", visible.Text(name), rootCause(err))
		}
		defer file.Close()
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Text(name), rootCause(err))
	}
	return content, nil
}

// mayDependOnOtherFiles reports whether an object in another file may solve a problem: for example, a reference
// to a missing object, a missing parent, or a violation of path policies. code is the code of the problem.
func mayDependOnOtherFiles(code string) bool {
	switch code {
	case "BackendNotFound", "TargetNotFound", "PolicyNotFound", "ExtensionNotFound", "ExtensionNotUsable",
		"GatewayClassNotFound", "ForeignGatewayClass", "NoMatchingParent", "ParentNotAccepted", "UnsupportedParent",
		"NotAllowed", "NotAllowedByParent", "NotAllowedByListeners", "NoMatchingListenerHostname", "RefNotPermitted",
		"InvalidCertificateRef", "InvalidCACertificateRef", "InvalidClientCertificateRef",
		"NoEndpoints", "NoBackends", "NoEffect", "ServesNowhere", "DelegatedRefField",
		"OutsideFence", "ClusterPathsMissing":
		return true
	}
	return false
}
