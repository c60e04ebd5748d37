// Package snapshot writes what a gatefold serves, so that another one can compare it with a folder by
// package plan, and reads that again.
//
// A snapshot is a list of JSON values, one a line: a Head, then the parts of a plan.Side, and last an end
// without which it is not complete. It is no contract: only the same version reads it, which the Head says.
// It has no secret. Credentials and the keys of tokens are sums under a key of the snapshot, and a Secret is
// a name. Sides that are compared must both have been through a snapshot with the same key (Through).
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

// Path is the admin page with the snapshot of what is served.
const Path = "/api/v1/snapshot"

// ContentType is that of a snapshot.
const ContentType = "application/jsonl"

// Head begins a snapshot.
type Head struct {
	// Format is that of the version that wrote the snapshot: see format.
	Format string
	// Key is what secrets are summed with: anything, but the same for both sides.
	Key []byte
	// Revision is the number of what is served, as in /api/v1/revisions.
	Revision uint64
	// Surroundings are what it is made with, beside objects.
	Surroundings translate.Surroundings
}

// NewHead returns the Head of a new snapshot.
func NewHead(revision uint64, around translate.Surroundings) Head {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it returns no error (crypto/rand)
	return Head{Format: format(), Key: key, Revision: revision, Surroundings: around}
}

// record is one line: exactly one of its fields is set. A Port is of the Gateway before it, a Host of the Port,
// and a Rule of the Host.
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
	Resource    *plan.Resource    `json:",omitempty"`
	// End counts the records before it.
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

// format returns the sum of all types in a snapshot, with their fields: another version of gatefold that
// writes something else has another one.
func format() string {
	types := typeList{known: map[reflect.Type]bool{}}
	types.add(reflect.TypeFor[record]())
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(types.text.String()))
	return hex.EncodeToString(sum.Sum(nil))
}

// typeList describes types, each once.
type typeList struct {
	known map[reflect.Type]bool
	text  strings.Builder
}

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
