package store

import (
	"hash/maphash"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/gatefold/gatefold/store/manifest"
)

// sharer has the objects of a folder share their words: ten thousand routes name the same
// Gateway, namespace and backends, and their defaults are the same. It remembers so many
// words and no more, each in a place of its own by its hash; a word that comes often is
// soon back where another took its place. It may be used by several goroutines at once.
type sharer struct {
	seed  maphash.Seed
	words [1024]atomic.Pointer[string]
}

// maxShared bounds a word, so that what the sharer holds is bounded.
const maxShared = 64

func newSharer() *sharer { return &sharer{seed: maphash.MakeSeed()} }

// word returns a text that is equal to this one, and nothing else: neither may be changed.
func (s *sharer) word(text string) *string {
	place := &s.words[maphash.String(s.seed, text)%uint64(len(s.words))]
	if known := place.Load(); known != nil && *known == text {
		return known
	}
	own := strings.Clone(text) // not what it is cut from
	place.Store(&own)
	return &own
}

// share replaces texts, and pointers to texts, in v and below. What is in maps stays.
func (s *sharer) share(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if n := v.Len(); n > 0 && n <= maxShared {
			v.SetString(*s.word(v.String()))
		}
	case reflect.Pointer:
		switch e := v.Elem(); {
		case v.IsNil():
		case e.Kind() != reflect.String:
			s.share(e)
		case e.Len() <= maxShared:
			v.Set(reflect.ValueOf(s.word(e.String())).Convert(v.Type()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() { // it is exported
				s.share(field)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				s.share(v.Index(i))
			}
		}
	}
}

// object replaces the strings of a new object by equal ones that are in memory already, and
// returns it. A nil sharer shares nothing.
func (s *sharer) object(o *manifest.Object) *manifest.Object {
	if s == nil {
		return o
	}
	s.share(reflect.ValueOf(o.Value))
	s.share(reflect.ValueOf(&o.Key))
	o.Key.Name, o.Key.Namespace = o.Value.GetName(), o.Value.GetNamespace()
	return o
}
