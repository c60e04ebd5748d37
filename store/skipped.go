package store

import (
	"path"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// belowSkipped returns whether a file is in a skipped directory, and if so, a Skip for the file with the
// directory's reason. With this Skip, the objects of the file do not count as deleted, even after a restart.
func belowSkipped(path string, skipped []watcher.Skip) (why watcher.Skip, below bool) {
	for _, skip := range skipped {
		if skip.Reason != watcher.ReadElsewhere && strings.HasPrefix(path, skip.Path+"/") {
			return watcher.Skip{Path: path, Reason: skip.Reason}, true
		}
	}
	return watcher.Skip{}, false
}

// unseenText returns what stands for the text of a file of which nothing could be read: it is too large, or may not be
// read. Nobody knows what it would have protected. The same is true of a directory that a limit leaves out. The parameter
// why is the problem of the file. For other problems, and for a file that was read before, it returns nil.
func (f *file) unseenText(why manifest.Problem) *unreadableText {
	unseen := []string{string(watcher.TooLarge), string(watcher.TreeTooLarge), string(watcher.Unreadable), codeTooManyDocuments}
	if !slices.Contains(unseen, why.Code) || len(f.documents) > 0 || why.Code != string(watcher.TreeTooLarge) && !isManifestPath(f.path) {
		return nil
	}
	return &unreadableText{
		wording: &wording{}, file: f, unseen: true, at: Place{File: f.path, Line: 1, Column: 1},
		cause: spotOfError{f.path, why.Line, why.Column, why.Code},
	}
}

// isManifestPath reports whether the name of a file is one of a file with objects.
func isManifestPath(of string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(of))
}

// codeTooManyDocuments is the code of the problem of a file with more documents than Limits allow.
const codeTooManyDocuments = "TooManyDocuments"

// skipProblem returns the problem of a skipped file. The code of the problem is the reason of the Skip.
func (f *file) skipProblem(skipped *watcher.Skip) manifest.Problem {
	p := manifest.Problem{
		Code: string(skipped.Reason), Severity: manifest.Error, File: f.path,
		Message: skipped.Detail,
	}
	if reason := skipped.Reason; reason == kustomizeFolder || reason == helmChart {
		p.Hint = renderHint(reason)
		return p
	}
	switch skipped.Reason {
	case watcher.ReadElsewhere:
		p.Severity, p.Hint = manifest.Warning, "nothing is missing; path policies count for the path that is read"
		return p
	case watcher.TooLarge:
		p.Hint = "split the file, or raise the limit"
	case watcher.Replaced:
		p.Hint = "mount the folder of the file in place of the file; until then, its objects stay as they were"
		return p
	}
	if len(f.documents) > 0 {
		p.Hint = "until the file can be read, its objects stay as they were"
	}
	return p
}
