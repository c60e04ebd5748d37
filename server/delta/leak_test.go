package delta

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate/xds"
)

// sizes counts what a plan holds of the resources of its target and of responses.
func (p *Plan) sizes() map[string]int {
	count := map[string]int{"tables": len(p.states), "with rejected parts": len(p.withRejected)}
	for _, l := range p.ledgers {
		count["held"] += l.held.Len()
		count["in flight"] += len(l.flight) + l.awaited
		count["rejected"] += len(l.rejected.of)
		count["alone"] += len(l.alone) + len(l.force)
		count["waiting"] += l.countDue() + len(l.gone.in) + len(l.unmoved) + len(l.waiting.in)
		count["unknown"] += len(l.unknown)
	}
	return count
}

// answer answers a response: a cluster whose name ends in 7 is rejected, and every other resource is accepted.
func (p *Plan) answer(r *Response) {
	request := &Request{TypeUrl: r.Type, ResponseNonce: r.nonce}
	for _, e := range r.Set {
		if r.Type == cds && strings.HasSuffix(e.Name, "7") {
			request.ErrorDetail = status.New(codes.Internal, "no "+r.nonce).Proto()
		}
	}
	p.Answer(request)
}

// After edit upon edit, of which no two have a name in common but for one table, the plan of an Envoy that rejects
// some of them holds as much as after the first ones, whether each answer comes at once or after later edits.
func TestNothingIsKeptOfEdits(t *testing.T) {
	const first, edits, every = 200, 3000, 20
	p := newPlanned(t)
	p.subscribe(&Request{TypeUrl: xds.EndpointType, ResourceNamesSubscribe: []string{"c0"}})
	edit := func(change string) {
		u := deltatest.Update(change)
		now := Update{u.Gateway, u.Type, u.Name, nil}
		if u.Resource != nil {
			now.Entry = NewEntry(u.Resource)
		}
		p.put(now)
	}
	var unanswered []*Response
	send := func() (sent bool) {
		for r, _ := p.Next(p.now); r != nil; r, _ = p.Next(p.now) {
			unanswered, sent = append(unanswered, r), true
		}
		return sent
	}
	var early map[string]int
	for i := 1; i <= edits; i++ {
		for _, change := range []string{
			fmt.Sprintf("RouteConfiguration r@%d", i), fmt.Sprintf("Listener l%d@1", i), fmt.Sprintf("-Listener l%d", i-1),
			fmt.Sprintf("Cluster c%d@1", i), fmt.Sprintf("-Cluster c%d", i-1),
			fmt.Sprintf("ClusterLoadAssignment c%d@1", i), fmt.Sprintf("-ClusterLoadAssignment c%d", i-1),
		} {
			edit(change)
		}
		send()
		if i%3 == 1 {
			continue
		}
		for send() || len(unanswered) > 0 {
			for _, r := range unanswered {
				p.answer(r)
			}
			unanswered = nil
		}
		switch {
		case i%every != 0:
		case i == first:
			early = p.sizes()
		case i > first && !maps.Equal(p.sizes(), early):
			t.Fatalf("after %d edits it holds %v, after %d %v", first, early, i, p.sizes())
		}
	}
	t.Logf("it holds %v", early)
}
