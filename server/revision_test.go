package server_test

import (
	"testing"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
)

// An Envoy holds a revision when it has acknowledged all of it, and what comes later and does not concern it.
func TestTheRevisionThatAnEnvoyHolds(t *testing.T) {
	r := start(t, server.Options{})
	edit := func(resources ...string) {
		r.publish(resources...)
		r.Edited(admin.Edit{Result: "ok"}, true)
	}
	holds := func(want uint64) {
		t.Helper()
		r.until("the revision is held", func() bool {
			streams := r.streams()
			return len(streams) == 1 && streams[0].Revision == want
		})
	}
	revisions := func() (list admin.RevisionList) {
		t.Helper()
		r.read(t, "/api/v1/revisions", &list)
		return list
	}
	edit("Cluster web@1", "Listener l@1", "shop/other: Cluster far@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(lds)
	c.take("Listener l@1")
	holds(1)
	edit("shop/other: Cluster far@2") // concerns another Gateway
	holds(2)
	edit("Cluster web@2")
	response := c.want("Cluster web@2")
	holds(2)
	edit("shop/other: Cluster far@3")
	holds(2)
	c.ack(response)
	holds(4)
	edits := revisions()
	if edits.Revision != 4 || len(edits.Edits) != 4 || edits.Edits[0].Revision != 4 {
		t.Errorf("got %+v", edits)
	}
	r.Edited(admin.Edit{Result: "frozen"}, false)
	if now := revisions(); now.Revision != 4 || now.Edits[0].Revision != 0 || now.Edits[0].Result != "frozen" {
		t.Errorf("after an edit that is not served: %+v", now)
	}
	const maxEdits = 50
	for range 2 * maxEdits {
		r.Edited(admin.Edit{Result: "ok"}, true)
	}
	if now := revisions(); now.Revision != 4+2*maxEdits || len(now.Edits) != maxEdits {
		t.Errorf("%d edits are kept", len(now.Edits))
	}
}
