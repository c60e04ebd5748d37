package server

import (
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// boundedFleet is a settledFleet whose canary reports, of which 5% of requests may fail within a minute.
func boundedFleet(t *testing.T) (f *stagedFleet, canary, other *puppet) {
	t.Helper()
	f, canary, other = settledFleet(t, Staging{Wait: time.Minute, MaxErrors: 0.05})
	f.staging.reporters[reporterOf(canary.stream)] = 1
	return f, canary, other
}

// reports has a canary report about the last five seconds.
func (p *puppet) reports(cluster string, all, failed uint64) {
	p.of.t.Helper()
	p.of.staging.count(p.stream, []*endpointv3.ClusterStats{{
		ClusterName: cluster, LoadReportInterval: durationpb.New(5 * time.Second),
		UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{{TotalSuccessfulRequests: all - failed, TotalErrorRequests: failed}},
	}}, p.of.now)
	p.of.settle()
}

const webCluster = "Service/shop/web/80"

func TestARevisionOfWhichRequestsFailIsFrozen(t *testing.T) {
	f, canary, other := boundedFleet(t)
	f.edit(web + "@2")
	f.is(soaks, 1, 2)
	f.pass(10 * time.Second)
	canary.reports("Service/shop/other/80", 100, 100) // which the revision does not change
	other.reports(webCluster, 100, 100)               // which is no canary
	f.staging.count(&stream{cluster: "shop/none", canary: true}, nil, f.now)
	canary.reports(webCluster, 100, 5)
	f.is(soaks, 1, 2)
	canary.reports(webCluster, 10, 1)
	f.is(frozen, 1, 2)
	f.says("Service shop/web", "Of 110 requests that Envoys of stage canary sent to Service/shop/web/80, 6 failed with 5xx: 5.5%, and --stage-max-errors is 5%",
		"Revision 2 is frozen: the other Envoys of shop/a stay on revision 1")
	f.pass(time.Hour)
	f.is(frozen, 1, 2)
	f.edit("Cluster new@1") // another edit does not help
	f.pass(time.Hour)
	f.is(frozen, 1, 3)
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")

	f.edit(web + "@3")
	f.is(soaks, 1, 4)
	f.says("")
	f.pass(10 * time.Second)
	canary.reports(webCluster, 100, 0)
	f.pass(time.Minute)
	f.is(delivered, 4, 4)
	other.holds(web+"@3", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
}

func TestARevertOfARevisionOfWhichRequestsFail(t *testing.T) {
	f, canary, _ := boundedFleet(t)
	f.edit(web + "@2")
	f.pass(10 * time.Second)
	canary.reports(webCluster, 100, 50)
	f.is(frozen, 1, 2)
	f.edit(web + "@1")
	f.is(delivered, 3, 3)
	f.says("")
}

func TestAPersonPromotesARevisionOfWhichRequestsFail(t *testing.T) {
	f, canary, other := boundedFleet(t)
	f.edit(web + "@2")
	f.pass(10 * time.Second)
	canary.reports(webCluster, 100, 50)
	f.is(frozen, 1, 2)
	f.staging.promoteAll()
	f.settle()
	f.is(delivered, 2, 2)
	other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@1")
}

// restarted is a boundedFleet of the next process, whose folder comes to these resources.
func (f *stagedFleet) restarted(changes ...string) (next *stagedFleet, canary, other *puppet) {
	f.t.Helper()
	kept, err := json.Marshal(f.saved)
	staging := Staging{Wait: time.Minute, MaxErrors: 0.05}
	if err = errors.Join(err, json.Unmarshal(kept, &staging.Fleets)); err != nil {
		f.t.Fatal(err)
	}
	next = newStagedFleet(f.t, staging)
	next.edit(append(changes, "Listener http@1", "RouteConfiguration r@1")...)
	other, canary = next.join("edge-1", "shop/a", "r"), next.join("canary-1", "shop/a", "r")
	next.staging.reporters[reporterOf(canary.stream)] = 1
	next.settle()
	return next, canary, other
}

func TestARestartEndsNoFreezeForErrors(t *testing.T) {
	f, canary, _ := boundedFleet(t)
	f.edit(web + "@2")
	f.pass(10 * time.Second)
	canary.reports(webCluster, 100, 50)
	f.is(frozen, 1, 2)

	same, _, other := f.restarted(web + "@2")
	same.pass(time.Hour)
	same.is(frozen, 0, 1)
	same.says("Service shop/web", "Of 100 requests", "50 failed", "keep what they have from before gatefold started")
	other.holds()
	same.edit("Cluster new@1") // another edit does not help
	same.pass(time.Hour)
	other.holds()
	same.edit(web + "@3")
	same.pass(time.Minute)
	same.is(delivered, 3, 3)
	other.holds(web+"@3", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")

	fixed, _, other := f.restarted(web + "@3") // while no gatefold ran
	fixed.is(soaks, 0, 1)
	fixed.pass(time.Minute)
	other.holds(web+"@3", "Listener http@1", "RouteConfiguration r@1")
}

// What a revision changes is not known after a restart: requests to all clusters count.
func TestARevisionOnCanariesIsCountedAnewAfterARestart(t *testing.T) {
	f, _, _ := boundedFleet(t)
	f.edit(web + "@2")
	f.is(soaks, 1, 2)
	next, canary, other := f.restarted(web + "@2")
	next.is(soaks, 0, 1)
	next.pass(10 * time.Second)
	canary.reports(webCluster, 100, 50)
	next.is(frozen, 0, 1)
	next.pass(time.Hour)
	other.holds()

	calm, _, _ := boundedFleet(t) // with nothing on canaries alone
	next, _, _ = calm.restarted(web + "@1")
	next, canary, other = next.restarted(web + "@1") // a second restart changes nothing either
	next.pass(10 * time.Second)
	canary.reports(webCluster, 100, 50) // as before the restart
	next.pass(time.Minute)
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
}

// A report that began before canaries accepted the revision is of the revision before, too.
func TestAReportOfBeforeTheRevisionIsNotCounted(t *testing.T) {
	f, canary, _ := boundedFleet(t)
	f.edit(web + "@2")
	f.pass(4 * time.Second)
	canary.reports(webCluster, 100, 100)
	f.is(soaks, 1, 2)
	f.pass(time.Minute)
	f.is(delivered, 2, 2)
}

// A few requests say little, but at the end they are all there is.
func TestFewRequestsCountAtTheEnd(t *testing.T) {
	f, canary, _ := boundedFleet(t)
	f.edit(web + "@2")
	f.pass(10 * time.Second)
	canary.reports(webCluster, minRequests-1, minRequests-1)
	f.is(soaks, 1, 2)
	f.pass(time.Minute)
	f.is(frozen, 1, 2)
}

func TestACanaryThatDoesNotReportFreezes(t *testing.T) {
	f, canary, _ := settledFleet(t, Staging{Wait: time.Minute, MaxErrors: 0.05})
	f.edit(web + "@2")
	f.is(judging, 1, 2)
	f.pass(2 * answerTime)
	f.is(frozen, 1, 2)
	f.says("Gateway shop/a", `"canary-1" of stage canary does not report how requests end`, "gatefold bootstrap --stage canary")
	f.staging.reporters[reporterOf(canary.stream)] = 1
	f.settle()
	f.is(soaks, 1, 2)
}

// A client cannot open streams of reports without end.
func TestReportStreamsAreBounded(t *testing.T) {
	s := New(Options{Staging: Staging{Wait: time.Minute, MaxErrors: 0.5}}, zerolog.Nop())
	reports := loadReports{s.core, s.transport, s.intake, s.stopping}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}})
	canary := &corev3.Node{Id: "canary-1", Cluster: "default/eg", Metadata: canaryMetadata()}
	for range maxStreams {
		if _, err := reports.beginReports(ctx, canary); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reports.beginReports(ctx, canary); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one stream too many: %v", err)
	}
}
