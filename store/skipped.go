package store

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// skip returns the edit of a file that cannot be read; false for none.
func (s *Store) skip(path string, why watcher.Skip) (e edit, changed bool) {
	before := s.files[path]
	after := &file{path: path, source: s.sourceOf(path), hides: s.hides(why), beside: &oddities{skipped: &why}}
	if before != nil {
		if known := before.oddities().skipped; known != nil && *known == why {
			return edit{}, false
		}
		after.documents = before.documents
	}
	return edit{path, before, after}, true
}

// belowSkipped returns why a file cannot be read that lies in a directory which is skipped.
// What cannot be read is not deleted, after a restart neither.
func belowSkipped(path string, skipped []watcher.Skip) (why watcher.Skip, below bool) {
	for _, skip := range skipped {
		if strings.HasPrefix(path, skip.Path+"/") {
			return watcher.Skip{Path: path, Reason: skip.Reason}, true
		}
	}
	return watcher.Skip{}, false
}

// elsewhere returns the files of the Store that were not among the files of the Tree
// before: they were skipped there, or the Store was restored and there was none.
func (s *Store) elsewhere() (paths []string) {
	if s.taken.Files.Len() == 0 {
		return slices.Collect(maps.Keys(s.files))
	}
	for _, skip := range s.taken.Skipped {
		if _, below := s.unread[skip.Path]; !below && s.files[skip.Path] != nil {
			paths = append(paths, skip.Path)
		}
	}
	return slices.AppendSeq(paths, maps.Keys(s.unread))
}

// noteUnread keeps unread up to an edit: what is skipped without a word of its own lies
// below a directory that is.
func (s *Store) noteUnread(e edit) {
	delete(s.unread, e.path)
	if e.after == nil {
		return
	}
	if why := e.after.oddities().skipped; why != nil && why.Detail == "" {
		s.unread[e.path] = struct{}{}
	}
}

func (f *file) skipProblem(skipped *watcher.Skip) manifest.Problem {
	p := manifest.Problem{
		Code: string(skipped.Reason), Severity: manifest.Error, File: f.path,
		Message: skipped.Detail,
	}
	if reason := skipped.Reason; reason == kustomizeFolder || reason == helmChart {
		p.Hint = renderHint(reason)
		return p
	}
	if skipped.Reason == watcher.TooLarge {
		p.Hint = "split the file, or raise the limit"
	}
	if len(f.documents) > 0 {
		p.Hint = "until the file can be read, its objects stay as they were"
	}
	return p
}
