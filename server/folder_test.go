package server_test

import (
	"context"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// askedFolder is a folder that answers by these functions, and of which nothing is known where they
// are nil.
type askedFolder struct {
	reload func(ctx context.Context, allowEmpty bool) (admin.Changes, error)
	places func([]manifest.Field) []store.Place
	busy   func() admin.Busy
}

func (f askedFolder) Reload(ctx context.Context, allowEmpty bool) (admin.Changes, error) {
	if f.reload == nil {
		return admin.Changes{}, nil
	}
	return f.reload(ctx, allowEmpty)
}

func (f askedFolder) Places(fields []manifest.Field) []store.Place {
	if f.places == nil {
		return make([]store.Place, len(fields))
	}
	return f.places(fields)
}

func (f askedFolder) Outlines(keys []manifest.Key) []store.Outline {
	return make([]store.Outline, len(keys))
}

func (f askedFolder) Labels(keys []manifest.Key) []map[string]string {
	return make([]map[string]string, len(keys))
}

func (f askedFolder) Between(read func([]*manifest.Object, translate.Surroundings)) bool {
	read(nil, translate.Surroundings{})
	return true
}

func (f askedFolder) Busy() admin.Busy {
	if f.busy == nil {
		return admin.Busy{}
	}
	return f.busy()
}
