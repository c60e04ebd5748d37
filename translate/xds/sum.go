package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// Sum is the hash of encoded content: equal sums mean equal content. It is the first 16 bytes
// of a SHA-256.
type Sum [16]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

func sumOf(body []byte) Sum {
	sum := sha256.Sum256(body)
	return Sum(sum[:16])
}

// sums computes one sum from the sums of parts, in their order. So parts that an edit does not
// change are not hashed again. kind distinguishes different things with the same parts.
type sums struct {
	hash hash.Hash
	part *Sum // that is added: one of its own each would be an allocation each
}

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

func (s sums) sum() Sum { return Sum(s.hash.Sum(nil)[:16]) }
