package server

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// editAt is the edit of this number: a table becomes another one, a cluster with its
// endpoints and a route's status come in the place of those of the edit before, and now and
// then a Gateway and a problem come or go. Names and words of one edit never come again;
// of Gateways, there are ten.
func editAt(i int) translate.Result {
	routeKey := func(i int) manifest.Key {
		return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "shop", Name: fmt.Sprintf("r%08d", i)}
	}
	conditions := []metav1.Condition{{Type: "Accepted", Status: "True", Reason: "Accepted"}}
	delta := []string{
		fmt.Sprintf("RouteConfiguration r@%08d", i), fmt.Sprintf("Cluster c%08d@1", i), fmt.Sprintf("-Cluster c%08d", i-1),
		fmt.Sprintf("ClusterLoadAssignment c%08d@1", i), fmt.Sprintf("-ClusterLoadAssignment c%08d", i-1),
	}
	result := translate.Result{Status: []status.Update{
		{Key: routeKey(i - 1)},
		{Key: routeKey(i), Status: &gwv1.RouteStatus{Parents: []gwv1.RouteParentStatus{{Conditions: conditions}}}},
	}}
	gateway := fmt.Sprintf("shop/g%d", i/2%10)
	if i%2 == 0 {
		delta = append(delta, fmt.Sprintf("%s: Listener l%08d@1", gateway, i))
		result.Status = append(result.Status, status.Update{Key: ir.GatewayKey(gateway), Gateway: gateway, Status: &gwv1.GatewayStatus{Conditions: conditions}})
	} else {
		delta = append(delta, fmt.Sprintf("%s: -Listener l%08d", gateway, i-1))
		result.Status = append(result.Status, status.Update{Key: ir.GatewayKey(gateway)})
	}
	if i%3 == 0 {
		result.Problems = []manifest.Problem{{Severity: manifest.Error, Code: "Conflict", Message: fmt.Sprintf("%08d", i)}}
	}
	for _, change := range delta {
		result.Delta = append(result.Delta, deltatest.Update(change))
	}
	return result
}

// holdings counts what a server holds, and what it does for its streams.
func (s *Server) holdings() map[string]int {
	families, err := s.metrics.Registry.Gather() // it locks the server, too
	if err != nil {
		panic(err)
	}
	statuses := s.board.List(func(manifest.Key) bool { return true })
	s.mu.Lock()
	defer s.mu.Unlock()
	count := map[string]int{
		"scopes": len(s.scopes), "statuses": len(statuses.Items), "verdicts": len(s.verdicts.given), "open": len(s.verdicts.open),
		"problems": len(s.loaded.Problems().Problems), "warned": len(s.warned), "refused": len(s.refused.List(time.Now())),
		"quarantine": len(s.quarantine.parts),
	}
	for _, c := range append(slices.Collect(maps.Values(s.scopes)), s.union) {
		count["resources"] += c.Size()
		count["streams"] += len(c.streams)
		for st := range c.streams {
			count["rejected"] += len(slices.Collect(st.Rejections()))
			for _, progress := range st.Progress() {
				count["accepted"] += progress.Accepted
				count["pending"] += progress.Pending + progress.Removing
			}
		}
	}
	for _, family := range families {
		count["series"] += len(family.Metric)
	}
	return count
}

// TestNothingIsKeptOfPublished publishes edit after edit to two streams that take part in
// all of them, while others come and go and a reader follows the statuses: what the server
// holds afterwards is what it held after the first edits, in number and in memory.
func TestNothingIsKeptOfPublished(t *testing.T) {
	const first = 960 // as edits a multiple of all that editAt counts by
	edits := max(2*first, testsize.Of(t, 3000)/60*60)
	s := New(Options{}, zerolog.Nop())
	feed := s.FollowStatus()
	s.Publish(editAt(0))
	join := func(cluster string) *line {
		l := s.lift(t, &corev3.Node{Id: "test", Cluster: cluster})
		l.answer = append(l.answer, &delta.Request{TypeUrl: eds, ResourceNamesSubscribe: []string{fmt.Sprintf("c%08d", 0)}},
			&delta.Request{TypeUrl: lds}, &delta.Request{TypeUrl: rds, ResourceNamesSubscribe: []string{"r"}})
		l.rejects = "7" // clusters whose names end so
		l.turn(t)
		return l
	}
	stay := []*line{join("shop/a"), join("all")}
	var early map[string]int
	var earlyHeap int
	for i := 1; i <= edits; i++ {
		s.Publish(editAt(i))
		if i%3 != 1 { // they answer to some edits late
			for _, l := range stay {
				l.turn(t)
			}
		}
		feed.Take(false)
		if i%30 != 0 {
			continue
		}
		s.at(join("shop/a").stream).leave()
		if i == first {
			early, earlyHeap = s.holdings(), liveHeap()
		}
	}
	late, lateHeap := s.holdings(), liveHeap()
	t.Logf("live heap after %d edits: %d KB, after %d: %d KB, %.3f times as much", first, earlyHeap/1024, edits, lateHeap/1024, float64(lateHeap)/float64(earlyHeap))
	if !maps.Equal(early, late) {
		t.Errorf("after %d edits there is %v, after %d %v", first, early, edits, late)
	}
	if grown, most := lateHeap-earlyHeap, 256*1024+8*(edits-first); grown > most {
		t.Errorf("the live heap grew by %d bytes in %d edits, %d are put up with", grown, edits-first, most)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(stay)
}

// A Gateway that is gone leaves no room for all that it had.
func TestNothingIsKeptOfAGatewayThatIsGone(t *testing.T) {
	const gateways, clusters = 4, 4000
	s := New(Options{}, zerolog.Nop())
	publish := func(gateway int, sign, version string) {
		var all []string
		for i := range clusters {
			all = append(all, fmt.Sprintf("shop/g%d: %sCluster c%08d%s", gateway, sign, i, version))
		}
		s.Publish(translate.Result{Delta: deltatest.Updates(all...)})
	}
	comeAndGo := func(gateway int) {
		publish(gateway, "", "@1")
		publish(gateway, "-", "")
	}
	comeAndGo(gateways) // what the first one costs is no Gateway's
	before := liveHeap()
	for gateway := range gateways {
		comeAndGo(gateway)
	}
	kept := liveHeap() - before
	t.Logf("%d KB are kept", kept/1024)
	if most := gateways * 64 << 10; kept > most {
		t.Errorf("%d bytes are kept of %d Gateways that are gone, %d are put up with", kept, gateways, most)
	}
	runtime.KeepAlive(s)
}

// liveHeap is what the heap holds in bytes, once connections that were closed are gone.
func liveHeap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
