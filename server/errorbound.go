package server

import "cmp"

// watch has the clusters found whose requests are to be counted.
func (s *staging) watch(c *scope) reading {
	soaking, changes := c.stage.soaking, c.stage.changes()
	return func() {
		found := watchedOf(changes)
		s.locked(func() { soaking.watched = found })
	}
}

// fail ends the time with canaries of a revision of which too many requests failed.
func (s *staging) fail(c *scope, f *Failure) {
	f.Forms = c.formsOf(f.Cluster)
	c.stage.failed = f
	c.stage.unripen()
	s.set(c, s.frozenForErrors(c))
}

// frozenForErrors is the verdict on a revision of which too many requests failed.
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

// stillFails reports whether the revision that is pending has what failed before. A fix is another form of the route,
// of the cluster or of its endpoints. unread is a table that is to be looked at first.
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

// mute returns the name of a canary that does not report, although a bound on errors is set; "" for none.
func (s *staging) mute(c *scope) (node string) {
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
