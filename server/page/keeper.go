package page

import (
	"sync"
	"time"
)

// kept is how long a keeper keeps a value.
const kept = time.Minute

// keeper is a cache of one value, for a value that takes long to compute if the folder is large. Callers share
// the value and must not change it. The value is dropped after some time (the constant kept).
type keeper[K comparable, V any] struct {
	mu         sync.Mutex
	generation uint64
	key        K
	value      *V
	timer      *time.Timer
}

// get returns the value for a key. The generation is Documents.Generation, which changes with each publication.
// get returns the cached value if this value is for the same key and generation. Otherwise it calls the function
// fresh, and caches the result. If fresh returns an error, get returns this error and does not change the cache.
func (k *keeper[K, V]) get(generation uint64, key K, fresh func() (V, error)) (V, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value != nil && k.generation == generation && k.key == key {
		return *k.value, nil
	}
	value, err := fresh()
	if err != nil {
		return value, err
	}
	k.generation, k.key, k.value = generation, key, &value
	if k.timer != nil {
		k.timer.Stop()
	}
	k.timer = time.AfterFunc(kept, k.forget)
	return value, nil
}

// forget drops the kept value.
func (k *keeper[K, V]) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value = nil
}
