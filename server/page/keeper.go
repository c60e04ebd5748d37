package page

import (
	"sync"
	"time"
)

// kept is how long a value is kept for the next look at it.
const kept = time.Minute

// keeper keeps the value that was asked for last: making one costs what the folder holds. A kept value is
// never changed.
type keeper[K comparable, V any] struct {
	mu         sync.Mutex
	generation uint64
	key        K
	value      *V
	timer      *time.Timer
}

// get returns the value of a key for this generation of what is served, made by fresh unless it is kept.
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

func (k *keeper[K, V]) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value = nil
}
