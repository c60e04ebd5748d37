package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta"
)

// A server that has not loaded the folder yet takes nothing away and answers
// nothing, not even that a name does not exist.
func TestNothingIsAnsweredBeforeTheFirstLoad(t *testing.T) {
	r := start(t, server.Options{})
	c := r.connect("shop/a")
	c.resume(cds, held("Cluster old@1"))
	c.ask(lds)
	c.ask(rds, "r")
	r.waits(1)
	r.publish("Cluster web@1", "Listener http@1", "RouteConfiguration r@1")
	c.take("Cluster web@1")
	c.take("Listener http@1")
	c.take("RouteConfiguration r@1")
	c.take("Cluster -old")
}

// An empty load is not an answer either: nothing says that the Gateway is gone.
func TestAGatewayThatIsNotKnownIsSentNothing(t *testing.T) {
	r := start(t, server.Options{})
	c := r.connect("shop/a")
	c.resume(cds, held("Cluster old@1"))
	r.waits(1)
	r.publish("shop/other: Cluster web@1")
	r.asked(1)
	r.publish("Cluster web@2")
	c.take("Cluster web@2")
}

func TestAnEditSendsWhatItChangesAndNothingElse(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "Cluster api@1", "Listener http@1", "RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := connected(r)
	c.take("Cluster api@1 web@1")
	c.take("Listener http@1")
	c.take("RouteConfiguration r1@1 r2@1")

	r.publish("RouteConfiguration r2@2")
	c.take("RouteConfiguration r2@2")
	r.publish("Cluster web@1")             // the same content: nothing
	r.publish("shop/other: Cluster web@9") // another Gateway: nothing
	r.publish("Cluster web@3")
	c.take("Cluster web@3")
}

// connected opens a stream of shop/a that asks as an Envoy does.
func connected(r *running) *client {
	r.t.Helper()
	c := r.connect("shop/a")
	c.ask(cds)
	c.ask(lds, delta.Wildcard)
	c.ask(rds, "r1", "r2")
	r.asked(3)
	return c
}

// A swap of a backend: the new cluster, its ACK, listeners, routes, and the old
// cluster last.
func TestTheOrderOfASwapIsGatedByAnswers(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster old@1", "Listener http@1", "RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := connected(r)
	c.take("Cluster old@1")
	c.take("Listener http@1")
	c.take("RouteConfiguration r1@1 r2@1")

	r.publish("-Cluster old", "Cluster new@1", "Listener http@2", "RouteConfiguration r1@2", "RouteConfiguration r2@2")
	cluster := c.want("Cluster new@1")
	c.barrier(r, "Cluster x@1") // nothing else before the ACK
	c.ack(cluster)
	listener := c.want("Listener http@2")
	r1 := c.want("RouteConfiguration r1@2") // each alone: both replace
	r2 := c.want("RouteConfiguration r2@2")
	for i, open := range []*discoveryv3.DeltaDiscoveryResponse{listener, r1, r2} {
		c.barrier(r, fmt.Sprintf("Cluster x@%d", i+2)) // no removal yet
		c.ack(open)
	}
	c.take("Cluster -old")
}

// A cluster comes back before the Envoy has answered its removal: routes to it wait until it
// is there again.
func TestAClusterComesBackWhileItsRemovalIsUnanswered(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster a@1", "Cluster b@1", "Listener http@1", "RouteConfiguration r1@b", "RouteConfiguration r2@1")
	c := connected(r)
	c.take("Cluster a@1 b@1")
	c.take("Listener http@1")
	c.take("RouteConfiguration r1@b r2@1")
	r.publish("-Cluster b", "RouteConfiguration r1@a")
	c.take("RouteConfiguration r1@a")
	removal := c.want("Cluster -b")
	r.publish("Cluster b@1", "RouteConfiguration r1@b")
	c.barrier(r, "Cluster x@1") // the routes wait
	c.ack(removal)
	cluster := c.want("Cluster b@1")
	c.barrier(r, "Cluster x@2")
	c.ack(cluster)
	c.take("RouteConfiguration r1@b")
}

// barrier shows that nothing was sent before: the cluster of change comes next.
func (c *client) barrier(r *running, change string) {
	c.t.Helper()
	r.publish(change)
	c.take(change)
}

// Envoy withholds the CDS ACK while a cluster warms: it is waited for, but not
// longer than BarrierWait.
func TestTheWaitForClustersIsBounded(t *testing.T) {
	r := start(t, server.Options{BarrierWait: 20 * time.Millisecond})
	r.publish("Cluster web@1", "Listener http@1", "RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := connected(r)
	c.want("Cluster web@1")
	c.take("Listener http@1")
	c.take("RouteConfiguration r1@1 r2@1")
	r.publish("-Cluster web", "RouteConfiguration r1@2")
	c.take("RouteConfiguration r1@2") // the cluster's answer is still awaited, and its removal waits
	c.barrier(r, "Cluster x@1")
}

func TestEndpointsDoNotWaitForTheClustersAnswer(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "ClusterLoadAssignment web@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.want("Cluster web@1")
	c.ask(eds, "web")
	c.take("ClusterLoadAssignment web@1")
}

// An updated cluster becomes warm only with endpoints that come behind it, and
// Envoy does not ask for them.
func TestEndpointsOfAHeldClusterAreSentAgain(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "ClusterLoadAssignment web@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
	c.ask(eds, "web")
	c.take("ClusterLoadAssignment web@1")
	r.until("endpoints accepted", func() bool { return r.audience("shop/a")[0].answered(eds) })
	r.publish("Cluster web@2")
	c.want("Cluster web@2") // its ACK is withheld until the endpoints came
	c.take("ClusterLoadAssignment web@1")
}

func TestOneRejectedByItselfIsNotSentAgain(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "Listener http@1", "RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := connected(r)
	c.take("Cluster web@1")
	c.take("Listener http@1")
	c.take("RouteConfiguration r1@1 r2@1")
	r.publish("RouteConfiguration r1@bad", "RouteConfiguration r2@2", "-Cluster web")
	c.nack(c.want("RouteConfiguration r1@bad"), "missing ): ((")
	c.take("RouteConfiguration r2@2")
	r.until("the rejection is known", func() bool {
		for _, rejected := range r.audience("shop/a")[0].rejected() {
			return rejected.Name == "r1" && rejected.Words == "missing ): (("
		}
		return false
	})
	c.barrier(r, "Cluster x@1") // neither r1@bad nor, as r1@1 serves on, the removal
	r.publish("RouteConfiguration r1@2")
	c.take("RouteConfiguration r1@2")
	c.take("Cluster -web")
}

// The innocents of a rejected response are sent again one by one, and who was
// rejected is found.
func TestTheInnocentsOfABatchAreSentAgain(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("RouteConfiguration r1@1", "RouteConfiguration r2@bad", "RouteConfiguration r3@1")
	c := r.connect("shop/a")
	c.ask(rds, "r1", "r2", "r3")
	c.nack(c.want("RouteConfiguration r1@1 r2@bad r3@1"), "missing ): ((")
	c.take("RouteConfiguration r1@1")
	c.nack(c.want("RouteConfiguration r2@bad"), "missing ): ((")
	c.take("RouteConfiguration r3@1")
	r.publish("RouteConfiguration r3@2")
	c.take("RouteConfiguration r3@2")
}

// Of clusters Envoy names the bad ones: they are not sent a second time.
func TestEnvoysWordsNameTheCulprit(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster a@1", "Cluster b@bad", "Cluster c@1", "Listener http@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.ask(lds)
	r.asked(2)
	c.nack(c.want("Cluster a@1 b@bad c@1"), "Error adding/updating cluster(s) b: malformed IP address: not-an-ip")
	c.take("Cluster a@1")
	c.take("Cluster c@1")
	c.barrier(r, "Cluster d@1") // listeners wait: the new cluster b was refused
	r.publish("Cluster b@2")
	c.take("Cluster b@2")
	c.take("Listener http@1")
}

// A cluster that stays rejected does not keep everybody's edits back for ever.
func TestARejectedClusterHoldsRoutesForABoundedTime(t *testing.T) {
	r := start(t, server.Options{BarrierWait: 20 * time.Millisecond})
	r.publish("Cluster a@bad", "Listener http@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.ask(lds)
	c.nack(c.want("Cluster a@bad"), "Error adding/updating cluster(s) a: no")
	c.take("Listener http@1")
}

func TestAReconnectGetsOnlyWhatDiffers(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster same@1", "Cluster edited@2", "Listener http@1", "RouteConfiguration r1@1", "RouteConfiguration r2@2")
	c := r.connect("shop/a")
	c.resume(cds, held("Cluster same@1", "Cluster edited@1", "Cluster gone@1"))
	c.resume(lds, held("Listener http@1", "Listener gone@1"), delta.Wildcard)
	c.resume(rds, held("RouteConfiguration r1@1", "RouteConfiguration r2@1"), "r1", "r2")
	c.take("Cluster edited@2")
	c.take("Listener -gone")
	c.take("RouteConfiguration r2@2")
	c.take("Cluster -gone")
}

// After a reconnect clusters are asked for first; what listeners and routes of
// the stream before still use is not known yet.
func TestARemovalWaitsForTheRestOfAReconnect(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster new@1", "Listener http@1", "RouteConfiguration r1@2")
	c := r.connect("shop/a")
	c.resume(cds, held("Cluster old@1"))
	c.take("Cluster new@1")
	c.barrier(r, "Cluster x@1")
	c.resume(lds, held("Listener http@1"))
	c.resume(rds, held("RouteConfiguration r1@1"), "r1")
	c.take("RouteConfiguration r1@2")
	c.take("Cluster -old")
}

func TestTheNewestWinsWhileAnUpdateIsInFlight(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("RouteConfiguration r1@1")
	c := r.connect("shop/a")
	c.ask(rds, "r1")
	first := c.want("RouteConfiguration r1@1")
	r.publish("RouteConfiguration r1@2")
	r.publish("RouteConfiguration r1@3")
	r.publish("RouteConfiguration r1@4")
	c.ack(first)
	fourth := c.want("RouteConfiguration r1@4")
	r.publish("RouteConfiguration r1@5")
	r.publish("RouteConfiguration r1@4") // back again: nothing to send
	c.ack(fourth)
	r.until("answered", func() bool { return r.audience("shop/a")[0].answered(rds) })
	r.publish("RouteConfiguration r1@6")
	c.take("RouteConfiguration r1@6")
}

// One Envoy that does not read delays neither Publish nor another Envoy.
func TestAStuckStreamDelaysNobody(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster a@1")
	stuck := r.open("shop/a")
	stuck.ask(cds)
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster a@1")
	for _, big := range bigClusters(200) { // far more than flow control lets pass
		r.publish(big)
		c.ack(c.next())
	}
	r.publish("Cluster a@2")
	c.want("Cluster a@2")
}

func TestAnUnsubscribedNameIsNotSent(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := r.connect("shop/a")
	c.ask(rds, "r1", "r2")
	c.take("RouteConfiguration r1@1 r2@1")
	r.until("both held", func() bool { return r.audience("shop/a")[0].of(rds).Acked == 2 })
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: rds, ResourceNamesUnsubscribe: []string{"r1"}})
	r.until("r1 forgotten", func() bool { return r.audience("shop/a")[0].of(rds).Acked == 1 })
	r.publish("RouteConfiguration r1@2", "RouteConfiguration r2@2")
	c.take("RouteConfiguration r2@2")
	c.ask(rds, "r1")
	c.take("RouteConfiguration r1@2")
	c.ask(rds, "r1") // asked for again: sent again, Envoy may have forgotten it
	c.take("RouteConfiguration r1@2")
}

// An answer to what was forgotten since says nothing of what was sent anew.
func TestAnOldAnswerIsNotTakenForANewOne(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := r.connect("shop/a")
	c.ask(rds, "r1")
	first := c.want("RouteConfiguration r1@1")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: rds, ResourceNamesUnsubscribe: []string{"r1"}})
	c.ask(rds, "r1")
	second := c.want("RouteConfiguration r1@1")
	c.ack(first)
	r.publish("RouteConfiguration r1@2")
	c.ask(rds, "r2")
	c.take("RouteConfiguration r2@1") // r1 still waits for its answer
	c.ack(second)
	c.take("RouteConfiguration r1@2")
}

func TestARejectedRemovalIsNotRepeated(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Listener a@1")
	c := r.connect("shop/a")
	c.ask(lds)
	c.take("Listener a@1")
	r.until("accepted", func() bool { return r.audience("shop/a")[0].of(lds).Acked > 0 })
	r.publish("-Listener a")
	c.nack(c.want("Listener -a"), "no")
	r.until("answered", func() bool { return r.audience("shop/a")[0].answered(lds) })
	r.publish("Listener b@1")
	c.take("Listener b@1")
}

// A rejected cluster that is taken away is no longer waited for.
func TestATakenAwayClusterIsNotWaitedFor(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster a@bad", "Listener http@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.ask(lds)
	c.nack(c.want("Cluster a@bad"), "no")
	r.publish("-Cluster a")
	c.take("Listener http@1")
}

func TestBatchesAreBounded(t *testing.T) {
	r := start(t, server.Options{})
	const batch = 500 // names of one response
	var many []string
	for i := range batch + 1 {
		many = append(many, fmt.Sprintf("Cluster c%03d@1", i))
	}
	r.publish(many...)
	c := r.connect("shop/a")
	c.ask(cds)
	first, second := c.next(), c.next()
	if len(first.Resources) != batch || len(second.Resources) != 1 {
		t.Errorf("got %d and %d resources", len(first.Resources), len(second.Resources))
	}
	r.publish(bigClusters(8)...)
	first, second = c.next(), c.next()
	if len(first.Resources) != 6 || len(second.Resources) != 2 {
		t.Errorf("of 200 KB each, got %d and %d resources", len(first.Resources), len(second.Resources))
	}
}

func TestANameThatDoesNotExistIsAnsweredAndComesLater(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster a@1")
	c := r.connect("shop/a")
	c.ask(eds, "a")
	c.take("ClusterLoadAssignment -a")
	r.publish("ClusterLoadAssignment a@1")
	c.take("ClusterLoadAssignment a@1")
}

// An empty request asks for all clusters and listeners, but not for all tables.
func TestAnEmptyRequestForTablesAsksForNone(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := r.connect("shop/a")
	c.ask(rds)
	c.ask(rds, "r2")
	c.take("RouteConfiguration r2@1")
}

// A listener that makes room for another goes in the same response: Envoy
// refuses two of one address.
func TestAListenerGoesWithItsSuccessor(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Listener http-80@1")
	c := r.connect("shop/a")
	c.ask(lds)
	c.take("Listener http-80@1")
	r.until("answered", func() bool { return r.audience("shop/a")[0].answered(lds) })
	r.publish("-Listener http-80", "Listener https-80@1")
	c.take("Listener https-80@1 -http-80")
}

// An Envoy that has heard nothing of clusters does not ask for listeners. One
// that tells what it holds has heard.
func TestWhoAsksForAllIsToldThatThereIsNothing(t *testing.T) {
	r := start(t, server.Options{})
	early := r.connect("shop/a")
	early.ask(cds)
	r.waits(1)
	r.publish("Listener http-80@1")
	for _, c := range []*client{early, r.connect("shop/a")} {
		if c != early {
			c.ask(cds)
		}
		c.take("Cluster")
		c.ask(lds)
		c.take("Listener http-80@1")
	}
}

func TestAClusterNameWithoutSlashGetsAllGateways(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("shop/a: Cluster shared@1", "shop/b: Cluster shared@1", "shop/b: Cluster b@1")
	c := r.connect("everything")
	c.ask(cds)
	c.ask(lds)
	c.ask(rds, "none")
	c.takeAny("Cluster b@1 shared@1", "Listener", "RouteConfiguration -none")
	r.publish("shop/a: -Cluster shared") // shop/b still has it
	late := r.connect("everything")
	late.ask(cds)
	late.take("Cluster b@1 shared@1")
	late.close()
	r.publish("shop/b: Cluster b@2")
	c.take("Cluster b@2")
	r.publish("shop/b: Cluster b@3")
	c.take("Cluster b@3")
	r.publish("shop/b: -Cluster shared")
	c.take("Cluster -shared")
	r.figures(t, `gatefold_xds_resources{type="Cluster"} 1`)
}

// bigClusters are changes of 200 KB each: content, and version.
func bigClusters(n int) []string {
	changes := make([]string, n)
	for i := range changes {
		changes[i] = fmt.Sprintf("Cluster big%d@%s", i, strings.Repeat("x", 100_000))
	}
	return changes
}
