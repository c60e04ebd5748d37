package watcher

import "context"

// mailbox contains the newest Tree until deliver passes it to the caller of Watch. A newer Tree replaces it.
type mailbox chan parcel

// parcel is a Tree in the mailbox, with the channels of the reload requests (Options.Rescan) that wait for it.
type parcel struct {
	tree  Tree
	asked []chan<- struct{}
	// replaced is true if this Tree took the place of a Tree that was not delivered yet. The receiver gets this Tree
	// even if nothing changed since the last delivered Tree. The reason is that Options.Arrived announced the replaced
	// Tree, and the receiver may have stopped its current work because of that.
	replaced bool
}

// put puts p into the mailbox, and never blocks. If the mailbox still contains an older Tree, p replaces it.
// Then p takes over the reload requests and the time Noticed of the older Tree, and p.replaced becomes true.
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

// deliver calls fn with each Tree in the mailbox that differs from the previous Tree, until ctx ends. It also
// calls fn with an unchanged Tree if a reload request waits for it, or if it replaced an older Tree. After the
// call, deliver closes the channels of the reload requests.
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
