package page

import (
	"sync"
	"time"
)

// kept is how long a value is kept for the next look at it.
const kept = time.Minute

// keeper keeps the last value, because making one costs as much as the folder is large. A kept
// value must not change.
type keeper[K comparable, V any] struct {
	mu         sync.Mutex
	generation uint64
	key        K
	value      *V
	timer      *time.Timer
}

// get returns the value of a key in a generation. It calls fresh unless it has kept the value.
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
