package store

import (
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// belowSkipped returns whether a file is in a skipped directory, and if so, a Skip for the file with the
// directory's reason. With this Skip, the objects of the file do not count as deleted, even after a restart.
func belowSkipped(path string, skipped []watcher.Skip) (why watcher.Skip, below bool) {
	for _, skip := range skipped {
		if strings.HasPrefix(path, skip.Path+"/") {
			return watcher.Skip{Path: path, Reason: skip.Reason}, true
		}
	}
	return watcher.Skip{}, false
}

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
