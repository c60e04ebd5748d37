package server

import "cmp"

// watch is called for a fleet whose canaries serve a revision that is not promoted yet (c.stage.soaking). It
// returns work that finds the clusters whose requests must be counted, and stores them in soaking. The caller
// does the work while it does not hold the lock.
func (s *staging) watch(c *scope) reading {
	soaking, changes := c.stage.soaking, c.stage.changes()
	return func() {
		found := watchedOf(changes)
		s.locked(func() { soaking.watched = found })
	}
}

// fail freezes the revision that the canaries of c serve, because too many of its requests failed; f has the
// numbers. The revision counts as not accepted again.
func (s *staging) fail(c *scope, f *Failure) {
	f.Forms = c.formsOf(f.Cluster)
	c.stage.failed = f
	c.stage.endSoak()
	s.set(c, s.frozenForErrors(c))
}

// frozenForErrors returns the verdict that freezes the revision of c because of c.stage.failed.
func (s *staging) frozenForErrors(c *scope) stageVerdict {
	f := c.stage.failed
	v := s.frozenBy(c, f.words(s.options.MaxErrors))
	b := &blame{typ: f.Type, name: f.Name}
	if f.Part.Route != "" {
		b.part = &f.Part
	}
	v.field = s.fieldOf(c, b)
	return v
}

// stillFails reports whether a revision that canaries have not accepted yet still has the change for which it
// was frozen before (c.stage.failed). It returns false if there is no such change, or if the failed route, the
// cluster or its endpoints changed since. If unread is not empty, the result is not certain: the caller does
// that work and calls again.
func (s *staging) stillFails(c *scope) (still bool, unread []reading) {
	f := c.stage.failed
	switch {
	case f == nil || f.Forms != c.formsOf(f.Cluster):
		return false, nil
	case f.Part.Route == "":
		return true, nil
	}
	e := c.Entry(f.Type, f.Name)
	if e == nil {
		return false, nil
	}
	sums, read := s.sums[e]
	if !read {
		return true, []reading{s.sum(e)}
	}
	return sums[f.Sum], nil
}

// silentCanary returns the name of a canary that does not report loads although Staging.MaxErrors is set: its
// node.id, or its network address if it has no node.id. It returns "" if every canary reports, or if MaxErrors
// is 0.
func (s *staging) silentCanary(c *scope) (node string) {
	if s.options.MaxErrors == 0 {
		return ""
	}
	for st := range c.canaries {
		if s.reporters[reporterOf(st)] == 0 {
			node = max(node, cmp.Or(st.node, st.peer))
		}
	}
	return node
}
