package engine

import (
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// questionPatience is how long a question about the folder waits for a run to end.
const questionPatience = 5 * time.Second

// places finds where fields are written in the folder as it was read last. It
// waits for a Tree that is on its way, no longer than questionPatience: no place is known then.
func (p *pipeline) places(fields []manifest.Field) []store.Place {
	if !p.mu.within(questionPatience) {
		return make([]store.Place, len(fields))
	}
	defer p.mu.Unlock()
	return p.reader.store.Places(fields)
}

// outlines reads what routes ask for, as places does.
func (p *pipeline) outlines(keys []manifest.Key) []store.Outline {
	if !p.mu.within(questionPatience) {
		return make([]store.Outline, len(keys))
	}
	defer p.mu.Unlock()
	return p.reader.store.Outlines(keys)
}

// labels returns the labels of objects that are served, as places does.
func (p *pipeline) labels(keys []manifest.Key) []map[string]string {
	if !p.mu.within(questionPatience) {
		return make([]map[string]string, len(keys))
	}
	defer p.mu.Unlock()
	return p.reader.store.Labels(keys)
}
