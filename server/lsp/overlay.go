package lsp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/watcher"
)

// overlay returns the content of a folder in which open documents replace the files on disk (the parameter disk).
// The parameter open has the documents by their path in the folder. The function reads reports whether gatefold
// would read a file with a given name.
//   - A document with more bytes than limit is not in Files of the result, but in Skipped, with the reason TooLarge.
//   - A file that is too large on disk is replaced by its document. A file that is skipped on disk for another
//     reason stays skipped.
//   - A document without a file on disk is added if reads returns true for it.
func overlay(disk watcher.Tree, open map[string]*document, limit int64, reads func(name string) bool) watcher.Tree {
	var set []watcher.File
	var gone []string
	skipped := slices.Clone(disk.Skipped)
	for _, name := range slices.Sorted(maps.Keys(open)) {
		doc := open[name]
		_, onDisk := disk.Files.Get(name)
		skip := slices.IndexFunc(skipped, func(s watcher.Skip) bool { return s.Path == name })
		tooLarge := skip >= 0 && skipped[skip].Reason == watcher.TooLarge
		if !onDisk && !tooLarge && (skip >= 0 || !reads(name)) {
			continue
		}
		if tooLarge {
			skipped = slices.Delete(skipped, skip, skip+1)
		}
		if size := int64(len(doc.content)); size > limit {
			skipped = append(skipped, watcher.Skip{Path: name, Reason: watcher.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", size, limit)})
			if onDisk {
				gone = append(gone, name)
			}
			continue
		}
		set = append(set, watcher.File{Path: name, Content: doc.content, Hash: doc.hash})
	}
	slices.SortFunc(skipped, func(a, b watcher.Skip) int { return strings.Compare(a.Path, b.Path) })
	disk.Files, disk.Skipped = disk.Files.With(set, gone), skipped
	return disk
}
