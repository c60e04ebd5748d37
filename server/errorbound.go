package server

import "cmp"

// watch prepares the check for failed requests (Staging.MaxErrors) of the soaking revision: canaries accepted it and
// serve it, but it is not promoted yet. watch returns a function that finds the clusters whose requests must be
// counted, and stores them in c.stage.soaking.watched. The caller calls this function without holding the lock.
func (s *staging) watch(c *scope) reading {
	soaking, changes := c.stage.soaking, c.stage.changes()
	return func() {
		found := watchedOf(changes)
		s.locked(func() { soaking.watched = found })
	}
}

// fail freezes the revision that the canaries of the fleet c serve, because too many requests to a cluster failed.
// The parameter f describes the failure. A frozen revision is not promoted. Its changes become pending again, as if
// no canary had accepted them. The revision stays frozen as long as the change that failed is in it (see stillFails).
func (s *staging) fail(c *scope, f *Failure) {
	f.Forms = c.formsOf(f.Cluster)
	c.stage.failed = f
	c.endSoak()
	s.set(c, s.frozenForErrors(c))
}

// frozenForErrors returns the verdict that the newest revision of the fleet c is frozen because too many requests
// failed on canaries (c.stage.failed).
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

// stillFails reports whether the pending revision still contains the change that made too many requests fail before
// (c.stage.failed). It returns false if no change has failed. It also returns false if one of these has changed
// since: the route whose requests failed, the cluster that they went to, or the endpoints of this cluster. If unread
// is not empty, the result is not certain: the caller does the work in unread and calls stillFails again.
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
