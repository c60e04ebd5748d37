package watcher

import "context"

// mailbox contains the newest Tree until it is delivered. It has room for one Tree.
type mailbox chan parcel

// parcel is a Tree with the reload requests that wait for it.
type parcel struct {
	tree  Tree
	asked []chan<- struct{}
	// replaced is true if another Tree was put before this one and not delivered. The receiver may have stopped its
	// work for that Tree (Options.Arrived), so it gets this one even if nothing changed.
	replaced bool
}

// put puts p into the mailbox, and never blocks. If an older Tree was not delivered yet, p replaces it: p takes
// over the reload requests and the time Noticed of the older Tree, and p.replaced is set.
func (m mailbox) put(p parcel) {
	select {
	case older := <-m:
		p.tree.Noticed = older.tree.Noticed
		p.asked = append(older.asked, p.asked...)
		p.replaced = true
	default:
	}
	m <- p // there is room: put is the only sender
}

// deliver calls fn with each Tree that differs from the previous one, until ctx ends. If a reload waits for a
// Tree, or if the Tree replaced another one, deliver calls fn even if the Tree is unchanged. After the call it
// closes the channels of the requests.
func (m mailbox) deliver(ctx context.Context, fn func(Tree)) {
	var last *Tree
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-m:
			if last == nil || !p.tree.Same(last) || len(p.asked) > 0 || p.replaced {
				fn(p.tree)
			}
			last = &p.tree
			for _, done := range p.asked {
				close(done)
			}
		}
	}
}
