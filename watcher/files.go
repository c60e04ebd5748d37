package watcher

import (
	"iter"
	"slices"
	"sort"
	"strings"
)

// chunkSize is the usual number of files in a chunk. An edit copies one chunk and the list of all chunks.
// Together they are smallest if both have equal length.
const chunkSize = 256

// Files are the files of a Tree, sorted by path. They are stored in chunks of about 256 files and are
// immutable. The method With returns new Files that share all unchanged chunks with the old Files. So an edit of
// one of 100,000 files copies a few hundred entries, and a comparison of two Trees skips shared chunks. The zero
// value is empty.
type Files struct {
	chunks []*chunk // none is empty
	len    int
	bytes  int64
}

// chunk is a part of the sorted list of Files. It is never changed, so that several Files can share it.
type chunk struct{ files []File }

// FilesOf returns files, sorted by path. If two files have the same path, it keeps the last one.
func FilesOf(files ...File) Files {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.Reverse(sorted)
	sorted = slices.CompactFunc(sorted, func(a, b File) bool { return a.Path == b.Path })
	slices.Reverse(sorted)
	return sortedFiles(sorted)
}

// sortedFiles returns Files of a sorted list. The list must not be changed later.
func sortedFiles(files []File) (f Files) {
	for piece := range slices.Chunk(files, chunkSize) {
		f.add(piece)
	}
	return f
}

// add appends files as one chunk. It does nothing if files is empty.
func (f *Files) add(files []File) {
	if len(files) == 0 {
		return
	}
	f.chunks = append(f.chunks, &chunk{files})
	f.len += len(files)
	f.bytes += bytesOf(files)
}

func bytesOf(files []File) (sum int64) {
	for i := range files {
		sum += int64(len(files[i].Content))
	}
	return sum
}

// Len returns the number of files.
func (f Files) Len() int { return f.len }

// Bytes returns the total size of the files.
func (f Files) Bytes() int64 { return f.bytes }

// All returns the files in the order of their paths.
func (f Files) All() iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, c := range f.chunks {
			for _, file := range c.files {
				if !yield(file) {
					return
				}
			}
		}
	}
}

// Get returns the file with a path. It returns false if there is none.
func (f Files) Get(path string) (File, bool) {
	c := f.chunkOf(path)
	if c < 0 {
		return File{}, false
	}
	files := f.chunks[c].files
	i, found := find(files, path)
	if !found {
		return File{}, false
	}
	return files[i], true
}

// chunkOf returns the index of the chunk that contains path or would contain it. It returns -1 if there are no
// chunks.
func (f Files) chunkOf(path string) int {
	after := sort.Search(len(f.chunks), func(i int) bool { return f.chunks[i].files[0].Path > path })
	return min(max(after-1, 0), len(f.chunks)-1)
}

func find(files []File, path string) (int, bool) {
	return slices.BinarySearchFunc(files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
}

// With returns a copy of f with changes. The parameter files has the files to add: each of them replaces the file of
// f with the same path, if there is one. The parameter removed has the paths of the files to remove. No path may be
// in both parameters.
func (f Files) With(files []File, removed []string) Files {
	if len(f.chunks) == 0 {
		return FilesOf(files...)
	}
	edits := map[int][]edit{} // by chunk
	for i := range files {
		c := f.chunkOf(files[i].Path)
		edits[c] = append(edits[c], edit{files[i].Path, &files[i]})
	}
	for _, path := range removed {
		c := f.chunkOf(path)
		edits[c] = append(edits[c], edit{path, nil})
	}
	out := Files{chunks: make([]*chunk, 0, len(f.chunks)+1), len: f.len, bytes: f.bytes}
	for i, c := range f.chunks {
		if len(edits[i]) == 0 {
			out.chunks = append(out.chunks, c)
			continue
		}
		out.len -= len(c.files)
		out.bytes -= bytesOf(c.files)
		out.addAll(edited(c.files, edits[i]))
	}
	return out
}

// edit sets the file of a path, or removes it if file is nil.
type edit struct {
	path string
	file *File
}

// edited returns a copy of files with the edits applied.
func edited(files []File, edits []edit) []File {
	files = append(make([]File, 0, len(files)+len(edits)), files...)
	for _, e := range edits {
		i, found := find(files, e.path)
		switch {
		case e.file == nil && found:
			files = slices.Delete(files, i, i+1)
		case e.file != nil && found:
			files[i] = *e.file
		case e.file != nil:
			files = slices.Insert(files, i, *e.file)
		}
	}
	return files
}

// addAll adds files behind the files of f. If they all fit into the last chunk of f, that chunk is replaced by one
// that also has them. Otherwise addAll appends new chunks of suitable length.
func (f *Files) addAll(files []File) {
	if last := len(f.chunks) - 1; last >= 0 && len(f.chunks[last].files)+len(files) <= chunkSize {
		before := f.chunks[last].files
		f.chunks = f.chunks[:last]
		f.len -= len(before)
		f.bytes -= bytesOf(before)
		files = slices.Concat(before, files)
	}
	for len(files) > 2*chunkSize {
		f.add(files[:chunkSize:chunkSize])
		files = files[chunkSize:]
	}
	f.add(files)
}

// Since compares f with an older version (the parameter before). It returns the files that are new or have another
// hash, and the paths of the files that were removed. Both results are sorted by path. Chunks that the two versions
// share are not compared.
func (f Files) Since(before Files) (changed []File, gone []string) {
	a, b := cursor{chunks: f.chunks}, cursor{chunks: before.chunks}
	for {
		for a.at == 0 && b.at == 0 && len(a.chunks) > 0 && len(b.chunks) > 0 && a.chunks[0] == b.chunks[0] {
			a.chunks, b.chunks = a.chunks[1:], b.chunks[1:]
		}
		x, y := a.file(), b.file()
		switch {
		case x == nil && y == nil:
			return changed, gone
		case y == nil || x != nil && x.Path < y.Path:
			changed = append(changed, *x)
			a.next()
		case x == nil || y.Path < x.Path:
			gone = append(gone, y.Path)
			b.next()
		default:
			if x.Hash != y.Hash {
				changed = append(changed, *x)
			}
			a.next()
			b.next()
		}
	}
}

// cursor is a position in a list of chunks.
type cursor struct {
	chunks []*chunk
	at     int
}

// file returns the current file, or nil at the end.
func (c *cursor) file() *File {
	if len(c.chunks) == 0 {
		return nil
	}
	return &c.chunks[0].files[c.at]
}

// next moves to the next file.
func (c *cursor) next() {
	if c.at++; c.at == len(c.chunks[0].files) {
		c.chunks, c.at = c.chunks[1:], 0
	}
}

// Same reports whether two Trees have the same files, skipped files, Revision and Missing. It does not compare
// Root, Scan and Noticed.
func (t *Tree) Same(other *Tree) bool {
	if t.Missing != other.Missing || t.Revision != other.Revision || !slices.Equal(t.Skipped, other.Skipped) {
		return false
	}
	changed, gone := t.Files.Since(other.Files)
	return len(changed)+len(gone) == 0
}
