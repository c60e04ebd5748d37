package watcher

import "context"

// mailbox has the newest Tree that was not delivered yet.
type mailbox chan parcel

// parcel is a Tree, with the reloads that wait for it.
type parcel struct {
	tree  Tree
	asked []chan<- struct{}
}

// put replaces the Tree in the mailbox. It never blocks.
func (m mailbox) put(p parcel) {
	select {
	case older := <-m:
		p.tree.Noticed = older.tree.Noticed
		p.asked = append(older.asked, p.asked...)
	default:
	}
	m <- p // there is room: put is the only sender
}

// deliver calls fn with each Tree that differs from the one before, or that a reload waits for,
// until ctx ends.
func (m mailbox) deliver(ctx context.Context, fn func(Tree)) {
	var last *Tree
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-m:
			if last == nil || !p.tree.Same(last) || len(p.asked) > 0 {
				fn(p.tree)
			}
			last = &p.tree
			for _, done := range p.asked {
				close(done)
			}
		}
	}
}
