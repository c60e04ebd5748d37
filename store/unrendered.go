package store

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/gatefold/gatefold/watcher"
)

// The reasons for which files are not loaded that a tool renders first.
const (
	kustomizeFolder watcher.SkipReason = "KustomizeFolder"
	helmChart       watcher.SkipReason = "HelmChart"
)

// unrenderedBy returns why the files beside and below a file are not loaded: the file marks a
// folder that Kustomize or Helm renders.
func unrenderedBy(file string) watcher.SkipReason {
	switch path.Base(file) {
	case "kustomization.yaml", "kustomization.yml":
		return kustomizeFolder
	case "Chart.yaml":
		return helmChart
	}
	return ""
}

// unrendered finds the folders of Kustomize and Helm. Their files are skipped: objects that were
// read from them earlier stay served, and at a start none is read. There is one problem for each
// folder, at the file that marks it.
type unrendered struct {
	last    watcher.Files
	markers map[string]string // by their directory, "" or ending in "/"
}

// strip returns tree with the files of folders that Kustomize or Helm renders moved to Skipped. The function
// counts reports whether a marker file is considered; under path policies only those in --cluster-paths are, as
// any other could keep files of other teams from being loaded.
func (u *unrendered) strip(tree watcher.Tree, counts func(file string) bool) watcher.Tree {
	changed, gone := tree.Files.Since(u.last)
	u.last = tree.Files
	for _, file := range gone {
		if dir, _ := path.Split(file); u.markers[dir] == file {
			delete(u.markers, dir)
		}
	}
	for _, f := range changed {
		if unrenderedBy(f.Path) != "" && counts(f.Path) {
			u.mark(f.Path)
		}
	}
	if len(u.markers) == 0 {
		return tree
	}
	return u.skip(tree)
}

func (u *unrendered) mark(file string) {
	if u.markers == nil {
		u.markers = map[string]string{}
	}
	dir, _ := path.Split(file)
	u.markers[dir] = file
}

// skip moves the files below markers to the skipped files. It reads the whole list of files while
// there is a marker.
func (u *unrendered) skip(tree watcher.Tree) watcher.Tree {
	var files []watcher.File
	below := map[string]int{}
	skipped := slices.Clone(tree.Skipped)
	for f := range tree.Files.All() {
		marker := u.above(f.Path)
		if marker == "" {
			files = append(files, f)
			continue
		}
		below[marker]++
		if f.Path != marker {
			skipped = append(skipped, watcher.Skip{Path: f.Path, Reason: unrenderedBy(marker)})
		}
	}
	for marker, n := range below {
		skipped = append(skipped, watcher.Skip{Path: marker, Reason: unrenderedBy(marker), Detail: unrenderedWords(marker, n)})
	}
	slices.SortFunc(skipped, func(a, b watcher.Skip) int { return cmp.Compare(a.Path, b.Path) })
	tree.Files, tree.Skipped = watcher.FilesOf(files...), skipped
	return tree
}

// above returns the topmost marker that applies to a file, "" for none.
func (u *unrendered) above(file string) string {
	if marker := u.markers[""]; marker != "" {
		return marker
	}
	for at, c := range file {
		if c != '/' {
			continue
		}
		if marker := u.markers[file[:at+1]]; marker != "" {
			return marker
		}
	}
	return ""
}

func unrenderedWords(marker string, files int) string {
	what := "Kustomize renders this folder"
	if unrenderedBy(marker) == helmChart {
		what = "Helm renders this folder"
	}
	return fmt.Sprintf("%s, so gatefold does not load its files (%d); objects that they gave before are still served", what, files)
}

// renderHint returns what to do about a folder of Kustomize or Helm.
func renderHint(reason watcher.SkipReason) string {
	command := "kustomize build DIR > rendered.yaml"
	if reason == helmChart {
		command = "helm template DIR > rendered.yaml"
	}
	return "render it first, into a folder of its own: " + command + "; or name the file in .gatefoldignore, to load the others as they are"
}
