package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// lackedPart returns a route that an Envoy is too old for, and rejectedPart one that it rejected.
func lackedPart(route string) *delta.RejectedPart {
	return &delta.RejectedPart{Table: "t", Part: xds.Part{Route: route}, Words: "extAuth needs Envoy 1.39", Lack: &xds.Lack{Field: "extAuth"}}
}

func rejectedPart(route string) *delta.RejectedPart {
	return &delta.RejectedPart{Table: "t", Part: xds.Part{Route: route}, Words: "no such thing"}
}

// streamOf returns a stream that was sent nothing.
func streamOf(node string) *stream {
	return &stream{node: node, Plan: delta.New(delta.NewSnapshot(), delta.Options{})}
}

// What is said of a part follows from the Envoys that are connected, in whatever order they came.
func TestWhatIsSaidOfAPartFollowsFromWhoIsConnected(t *testing.T) {
	young, old := streamOf("young"), streamOf("old")
	for _, oldFirst := range []bool{false, true} {
		q := newQuarantine(&lock{}, nil, Options{})
		rejected, lacked := rejectedPart("r"), lackedPart("r")
		if oldFirst {
			q.noteRejected(old, lacked)
			q.noteRejected(young, rejected)
		} else {
			q.noteRejected(young, rejected)
			q.noteRejected(old, lacked)
		}
		of := q.parts[keyOf(rejected)]
		if said := of.refusal(); of.known() || said.Lacks != "" || !strings.Contains(said.Words, `"young": no such thing`) {
			t.Errorf("old first %t: an Envoy rejected it, and %+v is said", oldFirst, said)
		}
		delete(of.rejectedBy, rejected)
		if said := of.refusal(); !of.known() || said.Lacks != ir.Field("extAuth") {
			t.Errorf("old first %t: the only Envoy is too old, and %+v is said", oldFirst, said)
		}
		delete(of.rejectedBy, lacked)
		if of.known() || len(q.hints("t")) != 1 {
			t.Errorf("old first %t: no hint of what an Envoy rejected", oldFirst)
		}
	}
	q := newQuarantine(&lock{}, nil, Options{})
	lacked := lackedPart("r")
	q.noteRejected(old, lacked)
	delete(q.parts[keyOf(lacked)].rejectedBy, lacked)
	if hints := q.hints("t"); len(hints) != 0 {
		t.Errorf("no Envoy rejected it, and there are the hints %v", hints)
	}
}

// However many routes an Envoy is too old for, one that an Envoy rejected is remembered.
func TestARejectedPartHasRoomAmongThoseThatEnvoysAreTooOldFor(t *testing.T) {
	q := newQuarantine(&lock{}, nil, Options{})
	st := streamOf("")
	for i := range maxQuarantine + 1 {
		q.noteRejected(st, lackedPart(fmt.Sprint(i)))
	}
	for _, of := range q.parts {
		of.told = true
	}
	part := rejectedPart("bad")
	q.noteRejected(st, part)
	if q.parts[keyOf(part)] == nil || len(q.parts) != maxQuarantine {
		t.Fatalf("the rejected part is not one of the %d", len(q.parts))
	}
	clear(q.parts)
	if set, _ := q.review(time.Now()); set == nil || len(set) != 0 {
		t.Errorf("what was given up is told still: %v", set)
	}
	if set, _ := q.review(time.Now()); set != nil {
		t.Errorf("nothing changed, and %v is told", set)
	}
}

// A part that no Envoy rejects any more makes room before one that Envoys are too old for.
func TestAnIdlePartMakesRoomFirst(t *testing.T) {
	q := newQuarantine(&lock{}, nil, Options{})
	st := streamOf("")
	for i := range maxQuarantine {
		q.noteRejected(st, lackedPart(fmt.Sprint(i)))
	}
	idle := keyOf(lackedPart("7"))
	clear(q.parts[idle].rejectedBy)
	q.noteRejected(st, rejectedPart("bad"))
	if q.parts[idle] != nil || len(q.parts) != maxQuarantine {
		t.Errorf("the idle part is there still, among %d", len(q.parts))
	}
}

// A problem names some of the Envoys that are too old, in an order that does not change, and follows those that come and leave.
func TestTheEnvoysThatAreTooOldForAPart(t *testing.T) {
	q := newQuarantine(&lock{}, nil, Options{})
	var parts []*delta.RejectedPart
	for _, node := range []string{"d", "b", "a", "c", "a"} {
		parts = append(parts, lackedPart("r"))
		st := streamOf(node)
		st.version = "1.38.2"
		q.noteRejected(st, parts[len(parts)-1])
	}
	of := q.parts[keyOf(parts[0])]
	for _, want := range []string{
		`extAuth needs Envoy 1.39; "a" is 1.38.2, "b" is 1.38.2, "c" is 1.38.2, and 1 more`,
		`extAuth needs Envoy 1.39; "a" is 1.38.2, "b" is 1.38.2, "c" is 1.38.2`,
		`extAuth needs Envoy 1.39; "a" is 1.38.2, "c" is 1.38.2`,
	} {
		for range 2 {
			if got := of.refusal().Words; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		q.forget(parts[0])
		parts = parts[1:]
	}
}
