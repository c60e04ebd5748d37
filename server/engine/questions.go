package engine

import (
	"context"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// questionPatience is how long a question about the folder waits for a run to end.
const questionPatience = 5 * time.Second

// questions answers what the admin pages ask about the folder (admin.Folder).
type questions struct {
	*pipeline
	manager *notifier
}

// Reload implements admin.Folder. The service manager is told of it.
func (q questions) Reload(ctx context.Context, allowEmpty bool) (admin.Changes, error) {
	q.manager.send("RELOADING=1")
	defer q.manager.send("READY=1")
	return q.again(ctx, allowEmpty)
}

// Busy implements admin.Folder.
func (q questions) Busy() admin.Busy { return q.busy.state() }

// Places implements admin.Folder. It waits for a Tree that is on its
// way, no longer than questionPatience: no place is known then.
func (q questions) Places(fields []manifest.Field) []store.Place {
	if !q.mu.within(questionPatience) {
		return make([]store.Place, len(fields))
	}
	defer q.mu.Unlock()
	return q.reader.store.Places(fields)
}

// Objects implements admin.Folder. It waits as Places does.
func (q questions) Objects() []*manifest.Object {
	if !q.mu.within(questionPatience) {
		return nil
	}
	defer q.mu.Unlock()
	return q.reader.store.Objects()
}

// Outlines implements admin.Folder. It waits as Places does.
func (q questions) Outlines(keys []manifest.Key) []store.Outline {
	if !q.mu.within(questionPatience) {
		return make([]store.Outline, len(keys))
	}
	defer q.mu.Unlock()
	return q.reader.store.Outlines(keys)
}

// Labels implements admin.Folder. It waits as Places does.
func (q questions) Labels(keys []manifest.Key) []map[string]string {
	if !q.mu.within(questionPatience) {
		return make([]map[string]string, len(keys))
	}
	defer q.mu.Unlock()
	return q.reader.store.Labels(keys)
}
