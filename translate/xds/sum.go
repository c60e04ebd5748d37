package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// Sum is the hash of encoded content: the first 16 bytes of a SHA-256. Equal sums mean equal content.
type Sum [16]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// sumOf returns the Sum of body.
func sumOf(body []byte) Sum {
	sum := sha256.Sum256(body)
	return Sum(sum[:16])
}

// sums computes one Sum (hash) over several contents from the Sum of each content, in order. Contents that an edit
// does not change need not be hashed again, because their Sums are known.
type sums struct {
	hash hash.Hash
	part *Sum // the part that is added; reused to avoid an allocation for each part
}

// newSums returns a sums value with a Sum of each encoding in frames. The parameter kind says what type of content
// the frames are. It makes the results for different types differ, even if all encodings are equal.
func newSums(kind string, frames ...[]byte) sums {
	s := sums{sha256.New(), new(Sum)}
	s.add(sumOf([]byte(kind)))
	for _, frame := range frames {
		s.add(sumOf(frame))
	}
	return s
}

func (s sums) add(part Sum) {
	*s.part = part
	s.hash.Write(s.part[:])
}

// sum returns one Sum over all Sums that were added.
func (s sums) sum() Sum { return Sum(s.hash.Sum(nil)[:16]) }
