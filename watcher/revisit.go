package watcher

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"
)

// crowdShare decides how revisit compares a directory with its known state. If revisit had to look up more than
// 1/crowdShare of the directory's entries, it lists the whole directory instead, because that is cheaper.
const crowdShare = 8

// revisit compares the directories and names in dirs with the known state, and updates that state. top is the
// known state of the root. revisit returns an error if a directory cannot be read, if its path belongs to
// another directory now, or if a limit is exceeded. Then a full scan is needed.
func (s *scan) revisit(top *node, dirs where) error {
	var paths []string
	for id := range dirs {
		paths = append(paths, s.ways[id]...)
	}
	slices.Sort(paths) // a directory comes before the directories in it
	for _, dir := range paths {
		n := top.down(dir)
		if n == nil {
			continue // it was removed, which the directory above has shown
		}
		names, hinted := dirs[n.id]
		if !hinted {
			continue // another directory has this path, and was listed
		}
		visit := s.lookAt
		if names == nil || (len(names)+len(n.links))*crowdShare > len(n.entries) {
			visit = s.relist
		}
		if err := visit(dir, n, names); err != nil {
			return err
		}
		if err := s.drain(top); err != nil {
			return err
		}
	}
	return nil
}

// down returns the directory at the path dir below n. It returns nil if the directory is not known or was not read.
func (n *node) down(dir string) *node {
	for at := 0; at < len(dir); {
		at += strings.IndexByte(dir[at:], '/') + 1
		i, known := n.index(dir[:at])
		if !known || n.entries[i].sub == nil || n.entries[i].skip != "" {
			return nil
		}
		n = n.entries[i].sub
	}
	return n
}

// at returns the entry with a path below n, or nil if there is none. n may be nil.
func (n *node) at(path string) *entry {
	if n == nil {
		return nil
	}
	if n = n.down(path[:strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')+1]); n == nil {
		return nil
	}
	if i, known := n.index(path); known {
		return n.entries[i]
	}
	return nil
}

// index returns the index of the entry with a path in n.entries. If there is none, it returns where the entry
// would be inserted, and false.
func (n *node) index(path string) (int, bool) {
	return sort.Find(len(n.entries), func(i int) int { return strings.Compare(path, n.entries[i].path) })
}

// relist lists the directory n at the path dir again, and replaces its known entries. It returns an error if the directory
// cannot be read or exceeds a limit, or if the path belongs to another directory now.
func (s *scan) relist(dir string, n *node, _ map[string]bool) error {
	fresh, err := s.list(&visit{dir: dir, old: n, rank: n.rank})
	if err != nil {
		return err
	}
	if fresh.id != n.id {
		return otherDir(dir)
	}
	*n = *fresh
	return nil
}

func otherDir(dir string) error { return fmt.Errorf("%s: another directory took its place", dir) }

// lookAt compares some entries of the directory n with the folder: those in names, and all links. All other
// entries stay as they are known. The parameter dir is the path of n. lookAt returns an error if the directory cannot
// be read or exceeds a limit, or if the path belongs to another directory now.
func (s *scan) lookAt(dir string, n *node, names map[string]bool) error {
	here, err := s.root.OpenRoot(rootName(dir))
	if err != nil {
		return err
	}
	defer here.Close()
	info, err := here.Stat(".")
	if err != nil {
		return err
	}
	if signatureOf(info).identity != n.id {
		return otherDir(dir)
	}
	all := maps.Clone(n.links)
	if all == nil {
		all = names
	}
	maps.Copy(all, names)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var found []*entry
		e, ok := s.entry(dir, name, func() (fs.FileInfo, error) { return here.Lstat(name) })
		if ok {
			found = append(found, &e)
		}
		if e.sig.shared && !n.links[name] {
			return s.relist(dir, n, nil) // other names of the file may be here, too
		}
		n.linked(name, e.isLink())
		before := n.named(dir + name)
		if err := s.grow(own(found).plus(own(before), -1)); err != nil {
			return err
		}
		n.replace(before, s.merge(&visit{dir: dir, rank: n.rank}, before, found))
	}
	return nil
}

// named returns the known entries of n for a path: the entry of a file, of a directory, both, or none. The path
// has no "/" at its end.
func (n *node) named(path string) (named []*entry) {
	for _, path := range []string{path, path + "/"} {
		if i, known := n.index(path); known {
			named = append(named, n.entries[i])
		}
	}
	return named
}

// replace removes the entries in the slice old from n, and inserts those in the slice entries.
func (n *node) replace(old, entries []*entry) {
	if len(old) == 1 && len(entries) == 1 && old[0].path == entries[0].path {
		i, _ := n.index(entries[0].path)
		n.entries[i] = entries[0]
		return
	}
	for _, e := range old {
		i, _ := n.index(e.path)
		n.entries = slices.Delete(n.entries, i, i+1)
	}
	for _, e := range entries {
		i, _ := n.index(e.path)
		n.entries = slices.Insert(n.entries, i, e)
	}
}
