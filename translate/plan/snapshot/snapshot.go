// Package snapshot writes and reads the configuration that a gatefold serves. Another gatefold can then compare
// the snapshot with a folder, with package plan.
//
// A snapshot is a list of JSON values, one on each line: a Head, then the records of a plan.Side, and at last
// an End. Without the End a snapshot is not complete. The format is not stable: a snapshot can only be read by
// the version that wrote it. A snapshot contains no secret. Credentials and the keys of JWT providers are
// replaced by sums under a key of the snapshot. A Secret is represented only by its name. Two sides can only be
// compared if both were written with the same key (see Through).
package snapshot

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

// Path is the path of the admin page that returns a snapshot of the served configuration.
const Path = "/api/v1/snapshot"

// ContentType is the content type of a snapshot.
const ContentType = "application/jsonl"

// Head is the first record of a snapshot.
type Head struct {
	// Format identifies the version that wrote the snapshot (see the function format).
	Format string
	// Key is the key of the HMACs that replace the secrets in the snapshot (see seal). It is random. Two snapshots
	// can be compared only if their keys are equal.
	Key []byte
	// Revision is the number of the revision that is served, as in /api/v1/revisions.
	Revision uint64
	// Surroundings are the inputs of the translation that are not objects, such as the options.
	Surroundings translate.Surroundings
}

// NewHead returns the Head of a new snapshot, with a new random key.
func NewHead(revision uint64, around translate.Surroundings) Head {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it returns no error (crypto/rand)
	return Head{Format: format(), Key: key, Revision: revision, Surroundings: around}
}

// record is one line of a snapshot. Exactly one of its fields is set. The order of the lines gives the tree: a
// Port belongs to the last Gateway before it, a Host to the last Port, and a Rule to the last Host.
type record struct {
	Head        *Head             `json:",omitempty"`
	Gateway     string            `json:",omitempty"`
	Port        *port             `json:",omitempty"`
	Host        *host             `json:",omitempty"`
	Rule        *ir.Rule          `json:",omitempty"`
	Cluster     *ir.Cluster       `json:",omitempty"`
	Certificate *ir.Certificate   `json:",omitempty"`
	Problem     *manifest.Problem `json:",omitempty"`
	Object      *object           `json:",omitempty"`
	Stale       *manifest.Key     `json:",omitempty"`
	Resource    *plan.Resource    `json:",omitempty"`
	// End is set only in the last line. It is the number of lines before that line, so that Read can find out that
	// the snapshot is not complete.
	End int `json:",omitempty"`
}

// port is an ir.PortView without its hosts.
type port struct {
	Port   *ir.Port
	Claims []string
}

// host is an ir.HostView without its rules.
type host struct {
	Chain, Domain string
	Forged        []string
}

// object is a manifest.Object without its value. Sum is nil for a Secret.
type object struct {
	Key manifest.Key
	Sum []byte
}

// format returns a hash of the Go types that a snapshot consists of. It differs between two versions of
// gatefold that write different records, so that Read can reject a snapshot of another version.
func format() string {
	types := typeList{known: map[reflect.Type]bool{}}
	types.add(reflect.TypeFor[record]())
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(types.text.String()))
	return hex.EncodeToString(sum.Sum(nil))
}

// typeList writes a description of types to text, each type once.
type typeList struct {
	known map[reflect.Type]bool
	text  strings.Builder
}

// add adds the description of t, and of the types of its elements, keys and fields.
func (l *typeList) add(t reflect.Type) {
	if l.known[t] {
		return
	}
	l.known[t] = true
	fmt.Fprintln(&l.text, t, t.Kind())
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		l.add(t.Elem())
	case reflect.Map:
		l.add(t.Key())
		l.add(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			fmt.Fprintln(&l.text, field.Name, field.Type, field.Tag)
			l.add(field.Type)
		}
	}
}
