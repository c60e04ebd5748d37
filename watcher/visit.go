package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxWays bounds the paths that lead to one directory: an edit in it is an edit in each.
const maxWays = 100

// rootNames is how many times more names the root may have than any directory below:
// what it has cannot be left out for the sake of others.
const rootNames = 4

// visit is a directory to list.
type visit struct {
	dir    string // the path, which ends in "/"; "" is the root
	e, was *entry // now, and as it was known; nil is not known
	old    *node  // what was known to be in it
	up     []identity
	// links are the links on the way here, each by a path without links where it has one.
	links []string
	// counted is true if its names were counted, and were many.
	counted bool
}

// todo is the queue of directories to list, and those that are left out.
type todo struct {
	// first are directories that no link leads to; last are the others.
	first, last shares[*visit]
	left        []excess
	vanished    []string
	flips       []string
	// skips are problems of links that lead to what is left out, and were followed elsewhere.
	skips []Skip
}

// excess is a directory that a limit leaves out.
type excess struct {
	*visit
	err error
}

// The reasons not to walk a directory that are ours and not the system's.
var (
	errLoop    = errors.New("a link to a directory that contains it")
	errTooMany = errors.New("more directories or files than the limits allow")
	errTooDeep = errors.New("directories are nested too deep")
	errLinks   = errors.New("links lead to the same directories too often")
	// errLater means that a directory has so many names that others come first.
	errLater = errors.New("its names are many")
)

// descend queues the directory e, unless it is unchanged.
func (s *scan) descend(l listing, e, was *entry) {
	v := &visit{dir: e.path, e: e, was: was, up: l.up, links: l.n.chain}
	if was != nil {
		v.old = was.sub
		if !s.deep && was.skip == "" && e.sameState(was) {
			e.sub = v.old
			return
		}
	}
	if link := (e.link != identity{}); link {
		v.links = append(slices.Clip(l.n.chain), s.plainPath(l, path.Base(e.path)))
	}
	s.wait(v, 1)
}

// plainPath returns the path of name in l without links, "" if it has none.
func (s *scan) plainPath(l listing, name string) string {
	if w := s.ways[l.n.id]; w != nil && w.hasPlain {
		return w.plain + name
	}
	return l.dir + name
}

// wait queues v. The targets of links have a share of their own: the cost counts for the directory
// with the first link on the path and, within that, for the links after it.
func (s *scan) wait(v *visit, cost int) {
	if len(v.links) == 0 {
		s.first.push(rootName(v.dir), int64(cost), v)
	} else {
		s.last.push(strings.Join(v.links, "/"), int64(cost), v)
	}
}

// drain lists all queued directories, and those that they contain. top is the root.
func (s *scan) drain(top *node) {
	for _, queue := range []*shares[*visit]{&s.first, &s.last} {
		for {
			next, up, ok := queue.pop()
			if !ok {
				break
			}
			cost := s.visit(next.thing)
			queue.charge(up, int64(cost))
		}
	}
	s.leaveOut()
	for _, dir := range s.vanished {
		top.drop(dir)
	}
	for _, path := range s.flips {
		s.collapse(path)
	}
	s.vanished, s.flips = nil, nil
}

// visit lists one directory, and returns its cost.
func (s *scan) visit(v *visit) (cost int) {
	err := s.admit(v)
	if err == nil {
		v.e.sub, err = s.list(v)
	}
	switch {
	case err == nil:
		s.unread = s.unread || v.was != nil && v.was.skip != ""
		if v.was != nil && v.was.link != (identity{}) && v.e.link != (identity{}) && v.was.link != v.e.link {
			s.flips = append(s.flips, v.dir)
		}
		return 1 + len(v.e.sub.entries)
	case errors.Is(err, errLater):
	case errors.Is(err, fs.ErrNotExist):
		s.stale = true
		s.vanished = append(s.vanished, v.dir)
		if v.was != nil {
			s.gone(v.was)
		}
	case errors.Is(err, errTooMany), errors.Is(err, errTooDeep), errors.Is(err, errLinks):
		s.left = append(s.left, excess{v, err})
	default:
		s.keepUnread(v, Unreadable, reason(err).Error())
	}
	return 0
}

// admit returns why v must not be listed, nil if it may be.
func (s *scan) admit(v *visit) error {
	if slices.Contains(v.up, v.e.sig.identity) {
		return errLoop
	}
	if len(v.up) >= s.limits.Depth {
		return errTooDeep
	}
	w := s.ways[v.e.sig.identity]
	if len(v.links) == 0 || w == nil || !s.elsewhere(v.dir, v.e.sig.identity) {
		if s.counts(v.links).dirs >= s.limits.Dirs {
			return errTooMany
		}
		return nil
	}
	if s.again+1+w.names > s.limits.Links || len(w.paths) >= maxWays && !slices.Contains(w.paths, v.dir) {
		return errLinks
	}
	return nil
}

// elsewhere reports whether the directory id has another path than dir.
func (s *scan) elsewhere(dir string, id identity) bool {
	w := s.ways[id]
	return w != nil && slices.ContainsFunc(w.paths, func(path string) bool { return path != dir })
}

// mostNames returns the most names of a directory that are read.
func (s *scan) mostNames(dir string) int {
	if dir == "" {
		return rootNames * (s.limits.Files + s.limits.Dirs)
	}
	return s.limits.Files + s.limits.Dirs
}

// count counts the directory n and its names. The names of the root are not counted, because it is
// always listed.
func (s *scan) count(v *visit, n *node, names int) error {
	s.ways[n.id].names = names
	if v.old != nil && !s.deep { // it was counted when it was listed before
		s.uncount(v.dir, v.old)
	}
	so := s.counts(v.links)
	switch room := s.limits.Files + s.limits.Dirs - so.names; {
	case n.again:
		s.again += 1 + names
		if s.again > s.limits.Links {
			return errLinks
		}
		return nil
	case v.dir == "":
		so.dirs++
		return nil
	case names > room:
		return errTooMany
	case names > room/2 && !v.counted:
		v.counted = true
		s.wait(v, 1+names)
		return errLater
	}
	so.dirs++
	so.names += names
	return nil
}

// counts returns the counter for a directory. Directories with and without links in their paths
// have separate limits, so that links leave room for the rest.
func (s *scan) counts(links []string) *tally {
	if len(links) == 0 {
		return &s.scanned.plain
	}
	return &s.scanned.linked
}

// recount changes the number of names of the directory n.
func (s *scan) recount(dir string, n *node, more int) error {
	switch {
	case n.again:
		if s.again += more; more > 0 && s.again > s.limits.Links {
			return errLinks
		}
	case dir != "":
		so := s.counts(n.chain)
		if so.names += more; more > 0 && so.names > s.limits.Files+s.limits.Dirs {
			return errTooMany
		}
	}
	return nil
}

// uncount reverts count for n.
func (s *scan) uncount(dir string, n *node) {
	if n.again {
		s.again -= 1 + len(n.entries)
		return
	}
	so := s.counts(n.chain)
	so.dirs--
	if dir != "" {
		so.names -= len(n.entries)
	}
}

// leaveOut reports what exceeds the limits. All directories in one directory, or behind the links
// of one directory, are one problem.
func (s *scan) leaveOut() {
	slices.SortFunc(s.left, func(a, b excess) int { return strings.Compare(a.dir, b.dir) })
	first := map[string]bool{} // the links by which ways begin that are left out
	for _, v := range s.left {
		if len(v.links) > 0 {
			first[v.links[0]] = true
		}
	}
	groups, order := map[string][]excess{}, []string(nil)
	for _, v := range s.left {
		group := v.group(first)
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], v)
	}
	for _, group := range order {
		s.leaveOutGroup(groups[group], group != othersFault || len(order) == 1)
	}
	s.stale = s.stale || len(s.left) > 0 && !s.deep // counted anew, others may be left out
	s.left = nil
}

// othersFault is the group of ways that other groups explain.
const othersFault = "/"

// group returns the directory that v is reported with: the directory above, or the one with the
// first link on the path. If a later link is itself the first link of other paths that are left
// out, it is the directory with that link.
func (v *excess) group(first map[string]bool) string {
	if len(v.links) == 0 {
		return path.Dir(rootName(v.dir))
	}
	if slices.ContainsFunc(v.links[1:], func(link string) bool { return first[link] }) {
		return othersFault
	}
	return "links of " + path.Dir(v.links[0])
}

// leaveOutGroup leaves out the directories of one group, and reports the group once.
func (s *scan) leaveOutGroup(left []excess, tell bool) {
	why, detail := s.leftOutWords(left)
	loud := 0
	if links := left[0].links; len(links) > 0 {
		loud = slices.IndexFunc(left, func(v excess) bool { return v.links[0] == rootName(v.dir) })
		if loud < 0 && tell {
			s.skips = append(s.skips, Skip{links[0], why, detail})
		}
	}
	for i, v := range left {
		words := ""
		if i == loud && tell {
			words = detail
		}
		s.keepUnread(v.visit, why, words)
	}
}

// leftOutWords returns why the directories of a group are left out, mostly about the first of them.
func (s *scan) leftOutWords(left []excess) (why SkipReason, detail string) {
	others := ""
	if len(left) > 1 {
		others = fmt.Sprintf(" (nor are %d others)", len(left)-1)
	}
	switch first := left[0]; {
	case errors.Is(first.err, errLinks):
		return TooManyLinks, fmt.Sprintf("links of the directory %s lead to the same directories too often: %d paths are not followed, such as %s; "+
			"a directory may be reached in %d ways, and links may lead to %d names a second time",
			path.Dir(first.links[0]), len(left), rootName(first.dir), maxWays, s.limits.Links)
	case errors.Is(first.err, errTooDeep):
		return TreeTooLarge, fmt.Sprintf("the directory is not read%s: it is nested more than %d deep", others, s.limits.Depth)
	}
	return TreeTooLarge, fmt.Sprintf("the directory is not read%s: the folder has more than %d directories or %d files, and this part of it more than its share",
		others, s.limits.Dirs, s.limits.Files)
}

// keepUnread keeps the known state of a directory that cannot be walked, with all files skipped.
// What cannot be read does not count as deleted.
func (s *scan) keepUnread(v *visit, why SkipReason, detail string) {
	s.unread = true
	v.e.skip, v.e.detail = why, detail
	if v.was != nil && v.was.sub != nil {
		below := detail
		if why != Unreadable {
			below = "" // the directory has the words
		}
		v.e.sub = v.was.sub.skipped(why, below)
	}
	if v.was == nil || !v.e.sameState(v.was) {
		s.change(v.dir, written)
	}
}

// drop removes a directory that does not exist any more from the one above.
func (n *node) drop(dir string) {
	above, _ := n.down(dir[:strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')+1])
	if above == nil {
		return
	}
	if i, known := above.index(dir); known {
		above.entries = slices.Delete(above.entries, i, i+1)
	}
}
