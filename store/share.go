package store

import (
	"hash/maphash"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/gatefold/gatefold/store/manifest"
)

// sharer makes equal strings of objects share memory: for example, ten thousand routes name the same Gateway.
// It remembers 1024 strings at most, each at an index that its hash determines. A new string replaces the
// string at its index. Several goroutines may use a sharer at once.
type sharer struct {
	seed  maphash.Seed
	words [1024]atomic.Pointer[string]
}

// maxShared is the maximum length in bytes of a shared string. So the memory of the sharer is limited.
const maxShared = 64

func newSharer() *sharer { return &sharer{seed: maphash.MakeSeed()} }

// word returns a pointer to a shared string that is equal to text. If the sharer has none, it adds a copy of
// text.
func (s *sharer) word(text string) *string {
	place := &s.words[maphash.String(s.seed, text)%uint64(len(s.words))]
	if known := place.Load(); known != nil && *known == text {
		return known
	}
	own := strings.Clone(text) // a copy, so that the whole text can be freed
	place.Store(&own)
	return &own
}

// share replaces the strings in v, and in the values that v contains, by equal strings that the sharer has already
// (see the method word). It leaves out strings longer than maxShared, unexported fields, and the content of maps
// and interfaces.
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
			if field := v.Field(i); field.CanSet() { // an exported field
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

// object makes a new object share equal strings with the objects before it, and returns the object. A nil
// sharer does nothing.
func (s *sharer) object(o *manifest.Object) *manifest.Object {
	if s == nil {
		return o
	}
	s.share(reflect.ValueOf(o.Value))
	s.share(reflect.ValueOf(&o.Key))
	o.Key.Name, o.Key.Namespace = o.Value.GetName(), o.Value.GetNamespace()
	return o
}
