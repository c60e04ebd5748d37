package server

import (
	"bytes"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

func TestAnEnvoyReadsTreesFrom125(t *testing.T) {
	for version, reads := range map[string]bool{"1.24.12": false, "1.9.0": false, "1.25.0": true, "1.40.0": true, "2.0.0": true, "": true} {
		if readsTrees(version) != reads {
			t.Errorf("%q: %t, want %t", version, !reads, reads)
		}
	}
}

// publishTree publishes r1@CONTENT, whose linear form is r1@CONTENTline.
func (r *running) publishTree(content string) {
	r.t.Helper()
	u := parseUpdate("RouteConfiguration r1@" + content)
	u.Resource.Linear = func() xds.Resource { return *resource(rds, "r1", content+"line") }
	r.Publish(translate.Result{Delta: []xds.Update{u}})
}

func oldNode(id string) *corev3.Node {
	return &corev3.Node{Id: id, Cluster: "shop/a", UserAgentName: "envoy",
		UserAgentVersionType: &corev3.Node_UserAgentBuildVersion{UserAgentBuildVersion: &corev3.BuildVersion{Version: &typev3.SemanticVersion{MajorNumber: 1, MinorNumber: 24}}}}
}

// An Envoy that cannot read trees is sent linear tables, under versions of their own,
// and nothing again that it holds; others are sent trees. Log, condition and figure
// tell of it.
func TestAnEnvoyThatCannotReadTreesIsSentLinearTables(t *testing.T) {
	var log bytes.Buffer
	r := startLogged(t, Options{}, zerolog.New(zerolog.SyncWriter(&log)))
	r.publish("Cluster web@1", "Listener http@1")
	r.publishTree("1")
	c, old := r.connect("shop/a"), r.connect("")
	c.ask(rds, "r1")
	c.take("RouteConfiguration r1@1")
	old.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: oldNode("museum")})
	old.take("Cluster web@1")
	old.ask(lds)
	old.take("Listener http@1")
	old.ask(rds, "r1")
	old.take("RouteConfiguration r1@1line")
	r.publishTree("2")
	c.take("RouteConfiguration r1@2")
	old.take("RouteConfiguration r1@2line")
	c.close()

	again := r.connect("")
	again.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: rds, Node: oldNode("museum-2"), ResourceNamesSubscribe: []string{"r1"},
		InitialResourceVersions: held("RouteConfiguration r1@2line")})
	again.ask(cds)
	again.take("Cluster web@1") // no table before
	again.close()

	r.until("one is left", func() bool { return len(r.audience("shop/a")) == 1 })
	if figures := r.get(t, "/metrics"); !strings.Contains(figures, "gatefold_xds_linear_envoys 1\n") {
		t.Error("the figure does not count it")
	}
	if page := r.get(t, "/api/v1/xds"); !strings.Contains(page, `"linearTables": true`) {
		t.Errorf("the page of streams does not tell: %s", page)
	}
	r.until("the verdict names it", func() bool {
		return strings.Contains(r.verdict("shop/a").message, `Given linear route tables, which are slower: "museum".`)
	})
	r.stop()
	if told := strings.Count(log.String(), "cannot read compiled route tables"); told != 2 {
		t.Errorf("the log tells of two streams %d times", told)
	}
}

// The same holds for the state-of-the-world protocol: a client that tells the
// version of what it holds is sent nothing.
func TestAnEnvoyThatCannotReadTreesInTheStateOfTheWorld(t *testing.T) {
	r := start(t, Options{})
	r.publishTree("1")
	old := r.world()
	old.node = oldNode("museum")
	old.ask(rds, "", "r1")
	old.take("RouteConfiguration r1@1line")
	r.publishTree("2")
	version := old.take("RouteConfiguration r1@2line")

	again := r.world()
	again.node = oldNode("museum")
	again.ask(rds, version, "r1")
	r.publish("Cluster web@1")
	again.ask(cds, "")
	again.take("Cluster web@1") // no table before
	r.publishTree("1")
	again.take("RouteConfiguration r1@1line")
}

// The page of what is served shows trees, with the routes in their leaves.
func TestThePageShowsTrees(t *testing.T) {
	r := start(t, Options{})
	r.Publish(translate.Result{Delta: []xds.Update{updateOf(*compiled(tableOfText("h: a=1 b=2"), "/1").Resource)}})
	page := r.get(t, "/api/v1/xds")
	for _, word := range []string{"prefixMatchMap", "envoy.config.route.v3.RouteList", `"path": "/2"`} {
		if !strings.Contains(page, word) {
			t.Errorf("%s is not in %s", word, page)
		}
	}
}
