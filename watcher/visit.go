package watcher

import (
	"container/heap"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// visit is a directory that a scan must list, with what the scan knows about it.
//
// A directory is listed once, however many links lead to it, so that links cannot multiply what is read. Its path is the
// one without links, if it has such a path outside of hidden directories, and else the one with the least rank, and the
// first of these. Path policies decide by the path, so no link of one team may change the path of what another team has: a
// link to what lies below the link's own directory comes before all others, because whoever makes it owns the target.
// A directory that is mounted twice has two paths without links, and is listed at both.
type visit struct {
	dir   string   // the path, which ends in "/"; "" is the root
	e     *entry   // the entry of the directory now; nil for the root, and for a directory that is listed again
	was   *entry   // the entry of the last scan; nil if the directory is new
	old   *node    // the contents of the last scan; nil if they are not known
	above *visit   // the directory that contains it, in a deep scan
	id    identity // set when it is listed
	// rank is the number of links that the system follows on the path. A link that leads out of its own directory counts
	// as awayRank.
	rank int
}

// awayRank is more than the number of links that a path may have.
const awayRank = 1000

// visits are the directories that wait, as a heap: those with the least rank and path first.
type visits []*visit

// Len implements heap.Interface, like the other methods.
func (q visits) Len() int { return len(q) }

// Less implements heap.Interface.
func (q visits) Less(i, k int) bool { return before(q[i].rank, q[i].dir, q[k].rank, q[k].dir) }

// Swap implements heap.Interface.
func (q visits) Swap(i, k int) { q[i], q[k] = q[k], q[i] }

// Push implements heap.Interface.
func (q *visits) Push(v any) { *q = append(*q, v.(*visit)) }

// Pop implements heap.Interface.
func (q *visits) Pop() any {
	last := len(*q) - 1
	v := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return v
}

// before reports whether the path a, with its rank, comes before the path b.
func before(rankA int, a string, rankB int, b string) bool {
	return rankA < rankB || rankA == rankB && a < b
}

// todo has what a scan must do yet, and what it has to report at the end.
type todo struct {
	queue    visits
	vanished []string
	flips    []string        // directories whose link was replaced
	links    []fileLink      // the links to files, in a deep scan
	told     map[string]told // the links that are not followed, by the directory that has them
}

// fileLink is a link to a file, and the rank of its directory.
type fileLink struct {
	*entry
	rank int
}

// told are links of one directory that are not followed.
type told struct {
	path, instead string // the first of them, and how its target is read
	others        int
}

// descend queues the directory e, so that the scan lists it. The parameter in is the directory that contains e. The
// parameter was is the entry of e in the last scan, or nil if e is new. A deep scan (s.deep) lists every directory.
// In any other scan, descend does not queue a directory that is unchanged and was not skipped: e then keeps the
// known contents.
func (s *scan) descend(in *visit, e, was *entry) {
	v := &visit{dir: e.path, e: e, was: was, above: in, rank: in.rank}
	if was != nil {
		v.old = was.sub
		if !s.deep && was.skip == "" && e.sameState(was) {
			e.sub, e.instead = was.sub, was.instead
			return
		}
	}
	if e.link != (identity{}) {
		v.rank = s.rankOf(e.path, in.rank)
	}
	heap.Push(&s.queue, v)
}

// rankOf returns the rank of a path that ends in a link. The parameter above is that of the directory with the link.
func (s *scan) rankOf(link string, above int) int {
	dir, _ := resolve(filepath.Join(s.root.Name(), path.Dir(rootName(link)))) // after an error, it leads away
	to, err := resolve(filepath.Join(s.root.Name(), link))
	rank := above/awayRank*awayRank + len(to.via) - 1
	if err != nil || !strings.HasPrefix(to.path+"/", dir.path+"/") {
		rank += awayRank
	}
	return rank
}

// errElsewhere means that a directory is read by another path.
var errElsewhere = errors.New("it is read by another path")

// drain lists the directories in the queue, and the directories in them, until the queue is empty. A deep scan then says
// which links to files are not followed, and which parts of the folder a limit leaves out. Last, drain removes vanished
// directories from top, and, for each directory whose link was replaced since the last scan (s.flips), it combines all
// changes below the link into one (see collapse). The parameter top is the known state of the root. The error is
// errFull: the folder has more than a limit, and what exceeds it cannot be left out.
func (s *scan) drain(top *node) error {
	for len(s.queue) > 0 {
		v := heap.Pop(&s.queue).(*visit)
		if err := s.visit(v); err != nil {
			return err
		}
	}
	if s.deep {
		s.readOnce(top)
	}
	for _, dir := range s.vanished {
		top.drop(dir)
	}
	for _, path := range s.flips {
		s.collapse(path)
	}
	s.vanished, s.flips = nil, nil
	return nil
}

// visit lists the directory v, unless it is read by another path or belongs to a part that is left out. A directory that
// cannot be listed keeps its known contents, and a Skip says why.
func (s *scan) visit(v *visit) error {
	if s.deep && s.parts.out[s.parts.of(v.dir)] {
		return nil
	}
	if strings.Count(v.dir, "/") >= s.limits.Depth {
		s.keepUnread(v.e, v.was, TreeTooLarge, fmt.Sprintf("the directory is not read: it is nested more than %d deep", s.limits.Depth))
		return nil
	}
	n, err := s.list(v)
	switch {
	case err == nil:
		v.e.sub = n
		s.unread = s.unread || v.was != nil && v.was.skip != ""
		if v.was != nil && v.was.link != (identity{}) && v.e.link != (identity{}) && v.was.link != v.e.link {
			s.flips = append(s.flips, v.dir)
		}
	case errors.Is(err, fs.ErrNotExist):
		s.stale = true
		s.vanished = append(s.vanished, v.dir)
		if v.was != nil {
			s.gone(v.was)
		}
	case errors.Is(err, errElsewhere):
	case errors.Is(err, errFull) && s.deep:
		return err
	case errors.Is(err, errFull):
		s.stale = true
	default:
		s.keepUnread(v.e, v.was, Unreadable, reason(err).Error())
	}
	return nil
}

// elsewhere reports whether the directory v must not be listed, because it is read by another path. It records that. A
// scan that is not deep meets no links; if it meets a directory that is known by another path, a deep scan must follow.
func (s *scan) elsewhere(v *visit) bool {
	instead, ways := "", s.ways[v.id]
	switch {
	case !s.deep:
		s.stale = s.stale || len(ways) > 0 && !slices.Contains(ways, v.dir)
		return false
	case v.rank == 0 || len(ways) == 0:
		return false
	case s.everyPath:
		up := v.above
		for up != nil && up.id != v.id {
			up = up.above
		}
		if up == nil {
			return false
		}
		instead = up.dir
	default:
		instead = ways[0]
	}
	v.e.instead = rootName(instead)
	s.tell(v.e)
	if v.was != nil && v.was.instead == "" {
		s.gone(v.was) // what was read by this path
	}
	if v.was == nil || v.was.instead != v.e.instead {
		s.change(v.dir, written)
	}
	return true
}

// noteLink records a link to a file, for readOnce. The parameter rank is that of its directory.
func (s *scan) noteLink(e *entry, rank int) {
	if s.deep && e.link != (identity{}) && !e.isDir() && e.skip == "" {
		s.links = append(s.links, fileLink{e, rank})
	}
}

// target is a file to which links lead.
type target struct {
	links []fileLink
	first fileLink // the path by which it is read; the entry is nil if that is not known yet
}

// readOnce says which links to files are not followed, because the file is read by another path: like a directory, a file
// has the path with the least rank. Only links are left out, never another name of the file (a hard link).
func (s *scan) readOnce(top *node) {
	targets := map[identity]*target{}
	for _, l := range s.links {
		if targets[l.sig.identity] == nil {
			targets[l.sig.identity] = &target{}
		}
		t := targets[l.sig.identity]
		t.links = append(t.links, l)
	}
	if len(targets) > 0 && !s.everyPath {
		top.walk(func(in *node, e *entry) {
			if t := targets[e.sig.identity]; t != nil && !e.isDir() && e.link == (identity{}) && e.skip == "" {
				t.meet(fileLink{e, in.rank})
			}
		})
	}
	for _, t := range targets {
		if s.settleFirst(t); s.everyPath {
			t.first = fileLink{}
		}
		for _, l := range t.links {
			instead := ""
			if t.first.entry != nil && t.first.path != l.path {
				instead = t.first.path
			}
			s.readAs(l.entry, instead)
		}
	}
}

// meet makes a path the first one of the target if it comes before the others.
func (t *target) meet(l fileLink) {
	if t.first.entry == nil || before(l.rank, l.path, t.first.rank, t.first.path) {
		t.first = l
	}
}

// settleFirst compares the links of the target, if it has another path that one of them could come before.
func (s *scan) settleFirst(t *target) {
	if t.first.entry == nil && len(t.links) == 1 || t.first.entry != nil && t.first.rank == 0 {
		return
	}
	for _, l := range t.links {
		l.rank = s.rankOf(l.path, l.rank)
		t.meet(l)
	}
}

// readAs sets by which path the target of the link e is read: that of e, if the parameter instead is "".
func (s *scan) readAs(e *entry, instead string) {
	if e.instead != instead {
		e.instead, e.have = instead, nil
		s.change(e.path, written)
	}
	if instead == "" {
		s.parts.add(e.path, size{sizeBytes: e.sig.size})
	} else {
		s.tell(e)
	}
}

// tell records a link that is not followed, because its target is read as e.instead.
func (s *scan) tell(e *entry) {
	link := rootName(e.path)
	one, known := s.told[path.Dir(link)]
	if known {
		one.others++
	}
	if !known || link < one.path {
		one.path, one.instead = link, e.instead
	}
	if s.told == nil {
		s.told = map[string]told{}
	}
	s.told[path.Dir(link)] = one
}

// tellings returns a Skip for each directory with links that are not followed.
func (s *scan) tellings() (all []Skip) {
	for dir, one := range s.told {
		others := ""
		if one.others > 0 {
			others = fmt.Sprintf("; nor are %d other links of the directory %s", one.others, dir)
		}
		all = append(all, Skip{one.path, ReadElsewhere, fmt.Sprintf("the link is not followed: what it leads to is read as %s%s", one.instead, others)})
	}
	return all
}

// keepUnread records that the directory or file e cannot be read. It keeps the known contents and marks all files in
// a directory as skipped, so that they do not count as deleted. The parameter was is the entry of the last scan, nil if e
// is new. The parameter why is the reason for the Skip. The parameter detail is the message for e, which may be "".
func (s *scan) keepUnread(e, was *entry, why SkipReason, detail string) {
	s.unread = true
	e.skip, e.detail = why, detail
	e.sub = nil
	if was != nil && was.sub != nil {
		below := detail
		if why != Unreadable {
			below = "" // the message is at the directory itself
		}
		e.sub = was.sub.skipped(why, below)
	}
	if was == nil || !e.sameState(was) {
		s.change(e.path, written)
	}
}

// drop removes the directory dir, which does not exist any more, from the directory above it. n is the root.
func (n *node) drop(dir string) {
	above := n.down(dir[:strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')+1])
	if above == nil {
		return
	}
	if i, known := above.index(dir); known {
		above.entries = slices.Delete(above.entries, i, i+1)
	}
}
