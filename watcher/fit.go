package watcher

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// size is how much a part of the folder has: names that are no directory, directories, and bytes of files that are read.
type size [3]int64

const (
	sizeNames = iota
	sizeDirs
	sizeBytes
)

// plus returns the sum of two sizes, the second times the parameter sign.
func (s size) plus(b size, sign int64) size {
	for what := range s {
		s[what] += sign * b[what]
	}
	return s
}

// own returns the size of a directory with these entries, without that of its subdirectories.
func own(entries []*entry) size {
	all := size{sizeDirs: 1}
	for _, e := range entries {
		all = all.plus(e.size(), 1)
	}
	return all
}

// size returns how much a name counts, without what is in a directory.
func (e *entry) size() (s size) {
	if e.isDir() && e.link == (identity{}) {
		return s
	}
	s[sizeNames] = 1
	if !e.isDir() && e.skip == "" && e.instead == "" {
		s[sizeBytes] = e.sig.size
	}
	return s
}

// most returns the limits of the whole folder.
func (l Limits) most() size {
	return size{sizeNames: int64(l.Files), sizeDirs: int64(l.Dirs), sizeBytes: l.TreeBytes}
}

// exceeded names a limit of the folder.
func (l Limits) exceeded(what int) string {
	unit := [...]string{sizeNames: "files", sizeDirs: "directories", sizeBytes: "bytes"}[what]
	return fmt.Sprintf("it has more than %d %s", l.most()[what], unit)
}

// errFull means that the folder has more than the limits allow.
var errFull = errors.New("the folder is not read: it exceeds a limit, and nothing of it can be left out")

// parts are the names that the limits of the folder compare: those in the directory base. That is the root, or, while
// a directory has nothing else than one directory, that one; what Options.Platform names does not count for this. So
// if the folder has the platform's directory and one with the directories of teams, each team's directory is a part.
//
// Over a limit, what grew most since the folder fitted is left out, until the rest fits: it keeps what it had, which is
// nothing at a start. So a part that does not grow loses nothing. Nothing of the platform is left out.
type parts struct {
	limits   Limits
	platform func(path string) bool // Options.Platform
	base     string
	sizes    map[string]size
	had      map[string]size // when the folder fitted
	out      map[string]bool // the parts that exceed a limit alone: the scan does not list more of them
}

// of returns the name of the part to which a path belongs. It ends in "/" for a directory.
func (p *parts) of(path string) string {
	rest, below := strings.CutPrefix(path, p.base)
	if !below {
		rest = path
	}
	if end := strings.IndexByte(rest, '/'); end >= 0 {
		return path[:len(path)-len(rest)+end+1]
	}
	return path
}

// owns reports whether a part is the platform's, or lies above the parts.
func (p *parts) owns(part string) bool {
	return strings.HasPrefix(p.base, part) || p.platform != nil && p.platform(part)
}

// charge adds a directory that was listed, with the entries found. It returns errFull if a part of the platform exceeds
// a limit alone. The bytes behind links are not known yet (see scan.readOnce).
func (p *parts) charge(dir string, found []*entry) error {
	all, above, names := size{sizeDirs: 1}, strings.HasPrefix(p.base, dir), []string(nil)
	for _, e := range found {
		by := e.size()
		if e.link != (identity{}) {
			by[sizeBytes] = 0
		}
		if !above {
			all = all.plus(by, 1)
			continue
		}
		p.add(e.path, by)
		if dir == p.base && !p.owns(e.path) {
			names = append(names, e.path)
		}
	}
	p.add(dir, all)
	if len(names) == 1 && strings.HasSuffix(names[0], "/") {
		p.base = names[0]
	}
	return p.stop(p.of(dir))
}

// add adds to the size of the part to which a path belongs.
func (p *parts) add(path string, by size) { p.sizes[p.of(path)] = p.sizes[p.of(path)].plus(by, 1) }

// stop has the scan list no more of a part that exceeds a limit alone. It returns errFull if the part is the platform's.
func (p *parts) stop(part string) error {
	for what, most := range p.limits.most() {
		if p.sizes[part][what] > most {
			if p.owns(part) {
				return fmt.Errorf("%w: %s", errFull, p.limits.exceeded(what))
			}
			p.out[part] = true
		}
	}
	return nil
}

// total returns the size of all parts.
func (p *parts) total() (total size) {
	for _, one := range p.sizes {
		total = total.plus(one, 1)
	}
	return total
}

// fit returns the parts that are left out, by the limit for which they are: those that grew most. It returns errFull if the
// folder exceeds a limit without them. The sizes of what is left out are then those that it had.
func (p *parts) fit() (out [3][]string, err error) {
	total := p.total()
	for what, most := range p.limits.most() {
		growth := func(part string) int64 { return p.sizes[part][what] - p.had[part][what] }
		grown := slices.SortedFunc(maps.Keys(p.sizes), func(a, b string) int {
			return cmp.Or(cmp.Compare(growth(b), growth(a)), strings.Compare(a, b))
		})
		for _, part := range grown {
			if total[what] > most && growth(part) > 0 && !p.owns(part) {
				total = total.plus(p.sizes[part], -1).plus(p.had[part], 1)
				p.sizes[part] = p.had[part]
				out[what] = append(out[what], part)
			}
		}
		if total[what] > most {
			return out, fmt.Errorf("%w: %s", errFull, p.limits.exceeded(what))
		}
	}
	return out, nil
}

// leaveOut leaves parts of the folder out until the rest fits. For each limit, one problem names the first part, and says
// how many others there are. It returns errFull if the folder cannot fit.
func (s *scan) leaveOut(old, top *node) error {
	out, err := s.parts.fit()
	if err != nil {
		return err
	}
	for what, names := range out {
		slices.Sort(names)
		detail := s.leftOut(what, len(names)-1)
		for _, name := range names {
			s.dropChanges(name)
			if e := top.at(name); e != nil {
				s.keepUnread(e, old.at(name), TreeTooLarge, detail)
			}
			detail = ""
		}
	}
	return nil
}

// leftOut returns the message for a part that is left out, and how many others are.
func (s *scan) leftOut(what, others int) string {
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" (like %d others)", others)
	}
	return fmt.Sprintf("the folder is too large: %s, and this has grown most%s; nothing new of it is read, and what was served of it stays", s.limits.exceeded(what), more)
}
