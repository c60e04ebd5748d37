package delta

import (
	"iter"
	"testing"

	"github.com/gatefold/gatefold/translate/xds"
)

// accepts answers all that is sent, until nothing is.
func (p *planned) accepts() (sent []string) {
	p.t.Helper()
	for range 100 {
		r, _ := p.Next(p.now)
		if r == nil {
			return sent
		}
		for name := range r.all {
			sent = append(sent, name)
		}
		p.book(p.ledgers[r.Type], r.nonce, "", false)
	}
	p.t.Fatal("it does not end")
	return nil
}

// What becomes due while the sets of a stream are laid onto those of the target stays due.
func TestWhatBecomesDueWhileSetsAreSharedIsSent(t *testing.T) {
	p := newPlanned(t)
	p.subscribe(&Request{TypeUrl: xds.EndpointType, ResourceNamesSubscribe: []string{"c"}})
	p.edit("Cluster c@1")
	p.edit("ClusterLoadAssignment c@1")
	p.edit("ClusterLoadAssignment other@1")
	p.accepts()
	next, stop := iter.Pull(p.Share())
	defer stop()
	first, _ := next()
	first.Book()
	p.ledgers[xds.EndpointType].look("none")
	p.ledgers[xds.EndpointType].unknown["none"] = true
	if second, ok := next(); ok {
		second.Book()
	}
	if sent := p.accepts(); len(sent) != 1 || sent[0] != "none" {
		t.Errorf("sent is %q, want none", sent)
	}
}

// A name that is due when the target loses it is answered, and a name that nobody requests is not.
func TestANameThatIsDueAndGoneIsAnswered(t *testing.T) {
	p := newPlanned(t)
	p.edit("ClusterLoadAssignment c@1")
	p.edit("ClusterLoadAssignment other@1")
	p.subscribe(&Request{TypeUrl: xds.EndpointType, ResourceNamesSubscribe: []string{"c"}})
	p.put(Update{"shop/a", xds.EndpointType, "c", nil}, Update{"shop/a", xds.EndpointType, "other", nil})
	if sent := p.accepts(); len(sent) != 1 || sent[0] != "c" {
		t.Errorf("sent is %q, want c", sent)
	}
	if l := p.ledgers[xds.EndpointType]; !l.idle() || l.told.Len() != 0 {
		t.Errorf("told has %d names", l.told.Len())
	}
}

// A stream that requests one of many names keeps the target's set itself, whatever is edited.
func TestWhatNobodyRequestsIsShared(t *testing.T) {
	p := newPlanned(t)
	p.ledgers = map[string]*ledger{}
	p.target = clusters(1000)
	p.subscribe(&Request{TypeUrl: cds, ResourceNamesSubscribe: []string{"c00007"}})
	for version := range 20 {
		p.put(versioned(version*31, version+2), versioned(7, version+2))
		if sent := p.accepts(); len(sent) != 1 || sent[0] != "c00007" {
			t.Fatalf("sent is %q, want c00007", sent)
		}
		for step := range p.Share() {
			step.Book()
		}
		if l := p.ledgers[cds]; !l.told.Same(l.all().Set) {
			t.Fatalf("%d of %d nodes are its own", l.told.own(p.target), l.told.Len())
		}
	}
}
