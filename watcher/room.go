package watcher

import (
	"fmt"
	"path"
	"slices"
)

// leaveOut returns the files that must be left out of the Tree because of the limits on files and bytes. The
// limits are shared fairly between directories (see shares). The value of a file is its message for the user.
// For each of the two limits, only one file of a directory has a message; the value of the others is "".
func (l *loader) leaveOut(all []reached) map[*entry]string {
	var files []reached
	var bytes int64
	for _, r := range all {
		if r.skip == "" {
			files = append(files, r)
			bytes += r.sig.size
		}
	}
	left := map[*entry]string{}
	if len(files) > l.limits.Files {
		fits := fitting(files, int64(l.limits.Files), func(*entry) int64 { return 1 })
		explain(left, files, fits, fmt.Sprintf("the folder has more than %d files", l.limits.Files))
		files = slices.DeleteFunc(files, func(r reached) bool { return !fits[r.entry] })
	}
	if bytes > l.limits.TreeBytes {
		fits := fitting(files, l.limits.TreeBytes, func(e *entry) int64 { return e.sig.size })
		explain(left, files, fits, fmt.Sprintf("the files of the folder have more than %d bytes", l.limits.TreeBytes))
	}
	return left
}

// fitting returns the files that fit into limit: the sum of their costs is at most limit. The limit is shared
// fairly between directories (see shares).
func fitting(files []reached, limit int64, cost func(*entry) int64) map[*entry]bool {
	var queue shares[*entry]
	for _, r := range files {
		queue.push(path.Dir(r.path)+"/", cost(r.entry), r.entry)
	}
	fits := map[*entry]bool{}
	for {
		next, up, ok := queue.pop()
		if !ok {
			return fits
		}
		if next.cost <= limit {
			limit -= next.cost
			fits[next.thing] = true
			queue.charge(up, next.cost)
		}
	}
}

// explain adds each file that is not in fits to the map left. The value of the first such file of a directory
// is a message for the user, with the number of the directory's files that are left out. The value of the
// others is "". The parameter limit is the part of the message that names the exceeded limit.
func explain(left map[*entry]string, files []reached, fits map[*entry]bool, limit string) {
	count := map[string]int{}
	for _, r := range files {
		if !fits[r.entry] {
			count[r.dir]++
		}
	}
	for _, r := range files {
		if fits[r.entry] {
			continue
		}
		left[r.entry] = ""
		if n := count[r.dir]; n > 0 {
			left[r.entry] = fmt.Sprintf("%s, and the directory %s more than its share: %d of its files are not read, beginning with this one", limit, rootName(r.dir), n)
			count[r.dir] = 0
		}
	}
}
