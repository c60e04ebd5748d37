package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// digest is the sum of the hashes of the live versions. An edit takes the hash of the version before from the sum, and adds
// that of the version after: the sum depends on no order, and an edit costs what it changes.
type digest struct {
	begun bool
	sum   [4]uint64
}

// Digest returns a number that stands for the live versions: what was served at the last call of Applied. It is the same
// for the same versions, whatever was served before, and below 2^53, so that a metric can have it. It is 0 before the
// first call of Applied.
//
// Who reads metrics sees the number, and must not be able to test guesses of a password with it. So nothing of the content
// of Secrets is in it, and of the users in a TrafficPolicy only their names: their hashes have no salt. The number is the
// hash of the sum, so that two numbers do not give the hash of the one object that an edit changed.
func (s *Store) Digest() uint64 {
	if !s.digest.begun {
		return 0
	}
	sum := binary.BigEndian.AppendUint64(nil, s.digest.sum[0])
	for _, lane := range s.digest.sum[1:] {
		sum = binary.BigEndian.AppendUint64(sum, lane)
	}
	hash := sha256.Sum256(sum)
	return max(1, binary.BigEndian.Uint64(hash[:])>>11)
}

// update brings the digest up to date. The parameters before and after have the versions that were live and are, of the
// same keys, and nil for none. Of the first call, before is empty.
func (d *digest) update(before, after map[manifest.Key]*manifest.Object) {
	d.begun = true
	for key, now := range after {
		if old := before[key]; old != now {
			d.add(old, -1)
			d.add(now, 1)
		}
	}
}

// add adds the hash of a version to the sum, or takes it from the sum if times is -1. It does nothing for nil.
func (d *digest) add(o *manifest.Object, times int64) {
	if o == nil {
		return
	}
	hash := sha256.Sum256(append(publicHash(o), o.Key.String()+" "+o.Key.Group...))
	for i := range d.sum {
		d.sum[i] += uint64(times) * binary.BigEndian.Uint64(hash[8*i:])
	}
}

// publicHash returns a hash of an object that tells nothing of credentials in it (see Digest).
func publicHash(o *manifest.Object) []byte {
	if !confidential(o.Key, o) {
		return o.Hash[:]
	}
	policy, ok := manifest.As[*api.TrafficPolicy](o)
	if !ok {
		return nil
	}
	public := *policy
	auth := *public.Spec.BasicAuth
	public.Spec.BasicAuth = &auth
	auth.Users = slices.Clone(auth.Users)
	for i, line := range auth.Users {
		auth.Users[i], _, _ = strings.Cut(line, ":")
	}
	text, err := json.Marshal(public)
	if err != nil { // it was read from YAML
		panic(err)
	}
	hash := sha256.Sum256(text)
	return hash[:]
}

// liveOf returns the live version of each key in keys, and nil for a key without one: what was served at the last call of
// Applied. It must be called when Applied begins, or ends.
func (s *Store) liveOf(keys map[manifest.Key]struct{}) map[manifest.Key]*manifest.Object {
	live := make(map[manifest.Key]*manifest.Object, len(keys))
	for key := range keys {
		_, withheld := s.history.withheld[key]
		before, changed := s.history.previous[key]
		switch {
		case withheld:
			live[key] = nil
		case changed:
			live[key] = before.object
		default:
			live[key] = s.serving.served[key].object
		}
	}
	return live
}

// touched returns the keys whose live versions a call of Applied may change. Before the first call, these are all.
func (s *Store) touched(withheld map[manifest.Key]struct{}) map[manifest.Key]struct{} {
	keys := map[manifest.Key]struct{}{}
	add := func(key manifest.Key) { keys[key] = struct{}{} }
	if !s.digest.begun {
		for key := range s.serving.served {
			add(key)
		}
	}
	for key := range s.history.previous {
		add(key)
	}
	for key := range s.history.withheld {
		add(key)
	}
	for key := range withheld {
		add(key)
	}
	return keys
}
