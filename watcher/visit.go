package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxWays is the largest number of paths that may lead to one directory. An edit in the directory is an edit at
// each of these paths.
const maxWays = 100

// rootNames is how many times more entries the root may have than any other directory. A directory with too many
// entries is left out. The root cannot be left out, so it has a higher limit.
const rootNames = 4

// visit is a directory that a scan must list, with what the scan knows about it.
type visit struct {
	dir string     // the path, which ends in "/"; "" is the root
	e   *entry     // the entry of the directory now
	was *entry     // the entry of the last scan; nil if the directory is new
	old *node      // the contents of the last scan; nil if they are not known
	up  []identity // the directories that contain the directory
	// links are the links on the path to the directory, as scan.plainPath returns them.
	links []string
	// counted is true if the method count has put the directory off because it has many entries (see errLater). count
	// puts a directory off only once.
	counted bool
}

// todo is the queue of directories that a scan must list. It also collects the directories that a limit leaves
// out (left), those that vanished, and those whose link was replaced (flips).
type todo struct {
	// first has the directories whose paths have no link. last has the other directories, which are listed
	// later.
	first, last shares[*visit]
	left        []excess
	vanished    []string
	flips       []string
	// skips are problems of links that were followed, but lead to directories that are left out.
	skips []Skip
}

// excess is a directory that a limit leaves out. err says which limit.
type excess struct {
	*visit
	err error
}

// The reasons not to list a directory, apart from errors of the system.
var (
	errLoop    = errors.New("a link to a directory that contains it")
	errTooMany = errors.New("more directories or files than the limits allow")
	errTooDeep = errors.New("directories are nested too deep")
	errLinks   = errors.New("links lead to the same directories too often")
	// errLater means that the directory has many entries, so that other directories are listed first.
	errLater = errors.New("its names are many")
)

// descend queues the directory e, so that the scan lists it. The listing l is the directory that contains e. The
// parameter was is the entry of e in the last scan, or nil if e is new. A deep scan (s.deep) lists every directory.
// In any other scan, descend does not queue a directory that is unchanged and was not skipped: e then keeps the
// known contents.
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

// plainPath returns the path of the link called name in the directory l: the path of the directory, followed by
// name. Links can give a directory several paths. If one of them contains no link, plainPath uses it for the
// directory. Otherwise it uses l.dir. The caller stores the result in visit.links.
func (s *scan) plainPath(l listing, name string) string {
	if w := s.ways[l.n.id]; w != nil && w.hasPlain {
		return w.plain + name
	}
	return l.dir + name
}

// wait queues the directory v with its expected cost. If the path of v has no links, v goes into the queue s.first,
// and its key is this path. Otherwise v goes into the queue s.last, and its key consists of the paths of all links
// in v.links, joined by "/".
//
// A queue divides the limit of the scan at each level of the keys (see shares). In s.last, the limit is thus divided
// among the directories that contain links. The part of each such directory is then divided among its links.
func (s *scan) wait(v *visit, cost int) {
	if len(v.links) == 0 {
		s.first.push(rootName(v.dir), int64(cost), v)
	} else {
		s.last.push(strings.Join(v.links, "/"), int64(cost), v)
	}
}

// drain lists the directories in the queues s.first and s.last, and the directories in them, until both queues are
// empty. Then it reports the directories that a limit leaves out, and removes vanished directories from top. Last,
// for each directory whose link was replaced since the last scan (s.flips), it combines all changes below the link
// into one (see collapse). The parameter top is the known state of the root.
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

// visit lists the directory v, and returns the cost: 1 plus the number of its entries. If it did not list the
// directory, the cost is 0. The directory is then in the queue again, has vanished, exceeds a limit (s.left), or
// cannot be listed. A directory that cannot be listed keeps its known contents, and a Skip says why.
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

// admit returns nil if the directory v may be listed. It returns errLoop if a link makes the directory contain
// itself, errTooDeep for too many levels, and errTooMany or errLinks for too many directories or links.
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

// elsewhere reports whether the directory id has another known path than dir.
func (s *scan) elsewhere(dir string, id identity) bool {
	w := s.ways[id]
	return w != nil && slices.ContainsFunc(w.paths, func(path string) bool { return path != dir })
}

// mostNames returns how many names of the directory dir are read, at most.
func (s *scan) mostNames(dir string) int {
	if dir == "" {
		return rootNames * (s.limits.Files + s.limits.Dirs)
	}
	return s.limits.Files + s.limits.Dirs
}

// count adds the directory n and its names to the counters, and checks the limits. The parameter names says how many
// names are in the directory. The names in the root are not counted, because the root is always listed. count
// returns errTooMany or errLinks if a limit is exceeded. It returns errLater if it put v into the queue again,
// because n has so many names that other directories come first.
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

// counts returns the counter for a directory with these links in its path. There is one counter for paths
// without links and one for paths with links, each with its own limit. So links cannot use up the limit of the
// other directories.
func (s *scan) counts(links []string) *tally {
	if len(links) == 0 {
		return &s.scanned.plain
	}
	return &s.scanned.linked
}

// recount corrects the scan's count of names after the directory n got or lost entries. The parameter more is the
// number of new entries, and negative if n lost entries. Names of the root are not counted. If more is positive and
// a limit is then exceeded, recount returns errLinks or errTooMany. In all other cases, it returns nil.
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

// uncount reverts the effect of count for n.
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

// leaveOut leaves out the directories in s.left, which exceed a limit. It reports one problem for each group of
// them. A group has the subdirectories of one directory, or what the links in one directory lead to. The group
// othersFault has directories that are left out because of the links of other groups. leaveOut reports no problem
// for it, unless it is the only group.
func (s *scan) leaveOut() {
	slices.SortFunc(s.left, func(a, b excess) int { return strings.Compare(a.dir, b.dir) })
	first := map[string]bool{} // the first link of each path that is left out
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
	s.stale = s.stale || len(s.left) > 0 && !s.deep // a new count may leave out other directories
	s.left = nil
}

// othersFault is the name of a group for leaveOut. It has the left-out directories whose paths have several links,
// if a link after the first one is at fault. That link belongs to another group, which reports the problem.
const othersFault = "/"

// group returns the name of the group (see leaveOut) to which the left-out directory v belongs. The name depends on
// v.links, which are the links on the path of v:
//   - If there are no links, the name is the path of the directory that contains v.
//   - If a later link than v.links[0] is the first link of another left-out directory, that directory's group
//     reports the problem. The name is then othersFault.
//   - In all other cases, the name is "links of " and the path of the directory that contains v.links[0].
//
// The parameter first has these first links: links[0] of every left-out directory that has links.
func (v *excess) group(first map[string]bool) string {
	if len(v.links) == 0 {
		return path.Dir(rootName(v.dir))
	}
	if slices.ContainsFunc(v.links[1:], func(link string) bool { return first[link] }) {
		return othersFault
	}
	return "links of " + path.Dir(v.links[0])
}

// leaveOutGroup leaves out the directories of one group. If tell is true, it reports one problem for the whole
// group.
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

// leftOutWords returns the reason and the message for the directories of a group. The message names the first
// directory, and says how many others the group has. If links lead to the same directories too often, the message
// says instead how many paths the group has.
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

// keepUnread records that the directory v cannot be listed. It keeps the known contents and marks all files in
// it as skipped, so that they do not count as deleted. The parameter why is the reason for the Skip. The parameter
// detail is the message for the directory, which may be "".
func (s *scan) keepUnread(v *visit, why SkipReason, detail string) {
	s.unread = true
	v.e.skip, v.e.detail = why, detail
	if v.was != nil && v.was.sub != nil {
		below := detail
		if why != Unreadable {
			below = "" // the message is at the directory itself
		}
		v.e.sub = v.was.sub.skipped(why, below)
	}
	if v.was == nil || !v.e.sameState(v.was) {
		s.change(v.dir, written)
	}
}

// drop removes the directory dir, which does not exist any more, from the directory above it. n is the root.
func (n *node) drop(dir string) {
	above, _ := n.down(dir[:strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')+1])
	if above == nil {
		return
	}
	if i, known := above.index(dir); known {
		above.entries = slices.Delete(above.entries, i, i+1)
	}
}
