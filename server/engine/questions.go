package engine

import (
	"context"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// questionPatience is how long a query about the folder waits for a run to end.
const questionPatience = 5 * time.Second

// questions implements admin.Folder: it answers the admin pages' queries about the folder.
type questions struct {
	*pipeline
	manager *notifier
}

// Reload implements admin.Folder. It also notifies the service manager.
func (q questions) Reload(ctx context.Context, allowEmpty bool) (admin.Changes, error) {
	q.manager.send("RELOADING=1")
	defer q.manager.send("READY=1")
	return q.again(ctx, allowEmpty)
}

// Busy implements admin.Folder.
func (q questions) Busy() admin.Busy { return q.busy.state() }

// ask calls the function read with the store, after the run in progress has ended. If the run takes longer than
// questionPatience, read is not called, and ok is false.
func (q questions) ask(read func(*store.Store)) (ok bool) {
	if !q.mu.within(questionPatience) {
		return false
	}
	defer q.mu.Unlock()
	read(q.reader.store)
	return true
}

// Places implements admin.Folder. If the folder is busy for too long, the places are zero.
func (q questions) Places(fields []manifest.Field) (places []store.Place) {
	if !q.ask(func(s *store.Store) { places = s.Places(fields) }) {
		return make([]store.Place, len(fields))
	}
	return places
}

// Between implements admin.Folder: it calls the function read between two changes of the folder. If a change of the
// folder is being applied for longer than questionPatience, Between returns false and does not call read.
func (q questions) Between(read func([]*manifest.Object, translate.Surroundings)) bool {
	return q.ask(func(s *store.Store) {
		t := q.translation
		objects := s.Objects()
		if secrets := q.reader.secrets; secrets != nil {
			for key := range secrets.own {
				objects = append(objects, &manifest.Object{Key: key})
			}
		}
		read(objects, translate.Surroundings{Options: t.options, Quarantine: t.trusted, Discoveries: t.answered, Holders: t.holders})
	})
}

// Outlines implements admin.Folder. If the folder is busy for too long, the outlines are zero.
func (q questions) Outlines(keys []manifest.Key) (outlines []store.Outline) {
	if !q.ask(func(s *store.Store) { outlines = s.Outlines(keys) }) {
		return make([]store.Outline, len(keys))
	}
	return outlines
}

// Labels implements admin.Folder. If the folder is busy for too long, the labels are nil.
func (q questions) Labels(keys []manifest.Key) (labels []map[string]string) {
	if !q.ask(func(s *store.Store) { labels = s.Labels(keys) }) {
		return make([]map[string]string, len(keys))
	}
	return labels
}
