package memo

// Pair is a pair of keys in a Join.
type Pair[L, R comparable] struct {
	Left  L
	Right R
}

// Join has a value for each pair of a left key and a right key that share at least one property. For example, the
// left key is a policy that selects by a label, and the right key is an object with this label. The cost of an edit
// depends only on the pairs that the edit adds or removes.
type Join[L, R, X comparable] struct {
	// left and right have the keys with each property. right leaves out the properties that only one right key can
	// have: this key is known from the property (the function ownerOf of NewJoin).
	left  map[X]*set[L]
	right map[X]*set[R]
	// shared counts the properties that a pair shares.
	shared map[Pair[L, R]]int
	subscribers[Pair[L, R], struct{}]
}

// Present is an Input or a Fold: it has a value for some keys, and none for all others.
type Present[K comparable, V any] interface {
	Keyed[K, V]
	// has reports whether key has a value. It records no read.
	has(key K) bool
}

// NewJoin declares a join: a left key and a right key form a pair if they share a property. The functions leftAt and
// rightAt return the properties of a key with its value, without duplicates. Some properties can belong to only one
// right key: for example, the name of this key. For such a property, the function ownerOf returns this right key and
// true. The join then stores no list of right keys for the property.
func NewJoin[L, R, X comparable, LV, RV any](left Keyed[L, LV], leftAt func(L, LV) []X,
	right Present[R, RV], rightAt func(R, RV) []X, ownerOf func(X) (R, bool),
) *Join[L, R, X] {
	j := &Join[L, R, X]{left: map[X]*set[L]{}, right: map[X]*set[R]{}, shared: map[Pair[L, R]]int{}}
	left.subscribe(&j.label, func(key L, change Change[LV]) {
		eachMove(key, change, leftAt, func(at X, step int) {
			place(j.left, at, key, step)
			if r, one := ownerOf(at); one && right.has(r) {
				j.count(Pair[L, R]{key, r}, step)
			}
			for r := range j.right[at].all() {
				j.count(Pair[L, R]{key, r}, step)
			}
		})
	})
	right.subscribe(&j.label, func(key R, change Change[RV]) {
		eachMove(key, change, rightAt, func(at X, step int) {
			if _, one := ownerOf(at); !one {
				place(j.right, at, key, step)
			}
			for l := range j.left[at].all() {
				j.count(Pair[L, R]{l, key}, step)
			}
		})
	})
	return j
}

// eachMove calls fn for each property that a change adds to a key (step 1) and for each that a change removes from a
// key (step -1). It calls fn for the added properties first. The callers count the properties that each pair shares.
// So a pair that only exchanges one shared property for another is not removed and added again.
func eachMove[K, X comparable, V any](key K, change Change[V], properties func(K, V) []X, fn func(at X, step int)) {
	before := map[X]bool{}
	if change.Had {
		for _, at := range properties(key, change.Old) {
			before[at] = true
		}
	}
	if change.Has {
		for _, at := range properties(key, change.New) {
			if !before[at] {
				fn(at, 1)
			}
			delete(before, at)
		}
	}
	for at := range before {
		fn(at, -1)
	}
}

// place updates the parameter side, which has the set of keys with each property: the field left or right of a Join.
// If step is 1, place adds key to the set of the property at. If step is -1, place removes key from this set.
func place[X, K comparable](side map[X]*set[K], at X, key K, step int) {
	if step > 0 {
		if side[at] == nil {
			side[at] = &set[K]{}
		}
		side[at].add(key)
		return
	}
	side[at].remove(key)
	if side[at].len() == 0 {
		delete(side, at)
	}
}

// count adds step (1 or -1) to the number of properties that a pair shares. If the pair thereby gets its first
// property or loses its last one, subscribers are notified.
func (j *Join[L, R, X]) count(pair Pair[L, R], step int) {
	had := j.shared[pair] > 0
	j.shared[pair] += step
	has := j.shared[pair] > 0
	if !has {
		delete(j.shared, pair)
	}
	if had != has {
		j.notify(pair, Change[struct{}]{Had: had, Has: has})
	}
}
