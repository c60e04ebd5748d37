package store

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/gatefold/gatefold/watcher"
)

// The reasons why files are not loaded if a tool must render them first.
const (
	kustomizeFolder watcher.SkipReason = "KustomizeFolder"
	helmChart       watcher.SkipReason = "HelmChart"
)

// unrenderedBy returns why the folder of a file is not loaded, if the file is a marker file:
// kustomization.yaml, kustomization.yml or Chart.yaml. It returns "" for other files.
func unrenderedBy(file string) watcher.SkipReason {
	switch path.Base(file) {
	case "kustomization.yaml", "kustomization.yml":
		return kustomizeFolder
	case "Chart.yaml":
		return helmChart
	}
	return ""
}

// unrendered finds the folders that Kustomize or Helm renders, by their marker files (unrenderedBy), and skips
// their files. Objects that were read from these files earlier stay served. Each folder has one problem, at its
// marker file.
type unrendered struct {
	last watcher.Files
	// markers has the sorted marker files of each directory that has one. A directory is "" or ends in "/".
	markers map[string][]string
}

// strip moves the files of folders that Kustomize or Helm renders from tree.Files to tree.Skipped, and returns the
// changed tree. strip knows such a folder by its marker file (see unrenderedBy). It calls the function allowed with
// the path of each marker file, and ignores the marker file if the result is false. Under path policies, allowed must
// return false outside --cluster-paths. Otherwise the marker file of one team could keep files of another team from
// being loaded.
func (u *unrendered) strip(tree watcher.Tree, allowed func(file string) bool) watcher.Tree {
	changed, gone := tree.Files.Since(u.last)
	u.last = tree.Files
	for _, file := range gone {
		if unrenderedBy(file) != "" {
			u.unmark(file)
		}
	}
	for _, f := range changed {
		if unrenderedBy(f.Path) != "" && allowed(f.Path) {
			u.mark(f.Path)
		}
	}
	if len(u.markers) == 0 {
		return tree
	}
	return u.skip(tree)
}

// mark adds a marker file (see unrenderedBy) to u.markers, under its directory.
func (u *unrendered) mark(file string) {
	if u.markers == nil {
		u.markers = map[string][]string{}
	}
	dir, _ := path.Split(file)
	if at, known := slices.BinarySearch(u.markers[dir], file); !known {
		u.markers[dir] = slices.Insert(u.markers[dir], at, file)
	}
}

// unmark removes a marker file from u.markers, if it is there.
func (u *unrendered) unmark(file string) {
	dir, _ := path.Split(file)
	at, known := slices.BinarySearch(u.markers[dir], file)
	if !known {
		return
	}
	if u.markers[dir] = slices.Delete(u.markers[dir], at, at+1); len(u.markers[dir]) == 0 {
		delete(u.markers, dir)
	}
}

// skip removes from the tree each file that is in the directory of a marker file or below it, and adds the file to
// tree.Skipped. skip looks at all files of the tree, so it is called only if there is a marker file.
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

// above returns the marker file in the file's directory or in a directory above it. If there are several, it returns
// the topmost, and of several in one directory the first by name. If there is none, it returns "".
func (u *unrendered) above(file string) string {
	if markers := u.markers[""]; len(markers) > 0 {
		return markers[0]
	}
	for at, c := range file {
		if c != '/' {
			continue
		}
		if markers := u.markers[file[:at+1]]; len(markers) > 0 {
			return markers[0]
		}
	}
	return ""
}

// unrenderedWords returns the message of the problem at a marker file. files is the number of files in and
// below its folder.
func unrenderedWords(marker string, files int) string {
	what := "Kustomize renders this folder"
	if unrenderedBy(marker) == helmChart {
		what = "Helm renders this folder"
	}
	return fmt.Sprintf("%s, so gatefold does not load its files (%d); objects that they gave before are still served", what, files)
}

// renderHint returns the hint of the problem of a folder that Kustomize or Helm renders.
func renderHint(reason watcher.SkipReason) string {
	command := "kustomize build DIR > rendered.yaml"
	if reason == helmChart {
		command = "helm template DIR > rendered.yaml"
	}
	return "render it first, into a folder of its own: " + command + "; or name the file in .gatefoldignore, to load the others as they are"
}
