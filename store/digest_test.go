package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// coldDigest returns the digest of a new Store with the same live versions.
func coldDigest(s *Store) uint64 {
	var d digest
	for key := range s.serving.served {
		d.update(nil, s.liveOf(map[manifest.Key]struct{}{key: {}}))
	}
	cold := Store{digest: d}
	return cold.Digest()
}

// TestDigestIsThatOfTheLiveVersions edits a folder at random, holds some of the edits, and withholds some objects. After each
// edit the digest is that of the live versions, computed anew; a restart with the saved state has the same. No two
// different folders have the same digest.
func TestDigestIsThatOfTheLiveVersions(t *testing.T) {
	seen := map[uint64]string{}
	for seed := range uint64(4) {
		f := &folder{rand.New(rand.NewPCG(seed, 7)), map[string][]string{}, map[string]string{}, watcher.Files{}}
		s, saved := newStore(t, saving), ledger{}
		if s.Digest() != 0 {
			t.Error("there is a digest before anything is applied")
		}
		for step := range 40 {
			for range f.random.IntN(4) + 1 {
				f.edit()
			}
			if len(f.place) == 0 {
				continue
			}
			s.Apply(f.tree())
			held, withheld := map[manifest.Key]Held{}, map[manifest.Key]struct{}{}
			for _, e := range s.Edits() {
				switch {
				case f.random.IntN(3) == 0:
					held[e.Key] = Held{Candidate: e.After}
				case e.After != nil && f.random.IntN(3) == 0:
					withheld[e.Key] = struct{}{}
				}
			}
			s.Freeze(Frozen{Held: held})
			s.Applied(withheld)
			saved.take(s)
			if got, want := s.Digest(), coldDigest(s); got != want {
				t.Fatalf("seed %d, step %d: the digest is %d, and of the live versions %d", seed, step, got, want)
			}
			var live strings.Builder
			for _, o := range s.serving.objects() {
				if one := s.liveOf(map[manifest.Key]struct{}{o.Key: {}})[o.Key]; one != nil {
					fmt.Fprintf(&live, "%s %x\n", o.Key, one.Hash)
				}
			}
			if other, known := seen[s.Digest()]; known && other != live.String() {
				t.Errorf("two folders have the digest %d:\n%s\n%s", s.Digest(), other, live.String())
			}
			if seen[s.Digest()] = live.String(); s.Digest() >= 1<<53 {
				t.Errorf("a metric cannot have %d", s.Digest())
			}
			if anew, err := s.Anew(); err != nil {
				t.Fatal(err)
			} else if anew.Applied(withheld); anew.Digest() != s.Digest() {
				t.Errorf("seed %d, step %d: a Store that replaces this one has another digest", seed, step)
			}
		}
		s.Apply(f.fresh())
		s.Applied(nil)
		saved.take(s)
		again := saved.restart(t, saving)
		again.Apply(f.fresh())
		again.Applied(nil)
		if again.Digest() != s.Digest() {
			t.Error("a restart changes the digest")
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d digests were seen", len(seen))
	}
}

// The digest has nothing of the content of Secrets, and nothing of hashes of passwords. A user who is removed changes it.
func TestDigestHasNoCredentials(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: %s}\n"
	policy := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: p}\n" +
		"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}], basicAuth: {users: [%s]}}\n"
	digest := func(value, users string) uint64 {
		t.Helper()
		s := newStore(t, Options{})
		if c := s.Apply(treeOf(map[string]string{"s.yaml": fmt.Sprintf(secret, value), "p.yaml": fmt.Sprintf(policy, users)})); len(c.Set) != 2 {
			t.Fatalf("%+v", c.Problems)
		}
		s.Applied(nil)
		return s.Digest()
	}
	const alice, bob = "'alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='", "'bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='"
	first := digest("one", alice+","+bob)
	if digest("two", alice+","+bob) != first {
		t.Error("the content of a Secret is in the digest")
	}
	if digest("one", strings.Replace(alice, "W6", "X6", 1)+","+bob) != first {
		t.Error("the hash of a password is in the digest")
	}
	if digest("one", alice) == first {
		t.Error("the names of users are not in the digest")
	}
}
