package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// count reads a counter of a type off the metrics.
func (r *running) count(t *testing.T, counter, typ string) (value string) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + counter + `\{type="` + typ + `"\} (.*)$`).FindStringSubmatch(r.get(t, "/metrics"))
	if found == nil {
		return "0"
	}
	return found[1]
}

// An Envoy that is told to keep so many clusters, and rejects what leaves it fewer, is
// sent a removal that it rejects among others once more by itself, and no more; whatever
// comes after that it takes.
func TestAnEnvoyThatKeepsItsClustersIsLeftInPeace(t *testing.T) {
	const validator = `
    config_validators:
    - name: envoy.config.validators.minimum_clusters_validator
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.config.validators.minimum_clusters.v3.MinimumClustersValidator
        min_clusters_num: 3`
	for _, protocol := range []string{"DELTA_GRPC", "GRPC"} {
		t.Run(protocol, func(t *testing.T) {
			shop := newShop(t, server.Options{})
			config, err := envoy.Bootstrap(envoy.Options{XDSAddress: shop.xds.String(), AdminAddress: "127.0.0.1:0", NodeID: "keeper", NodeCluster: "shop/a"})
			if err != nil {
				t.Fatal(err)
			}
			const before = "api_type: DELTA_GRPC"
			text := strings.Replace(string(config), before, "api_type: "+protocol+validator, 1)
			if !strings.Contains(string(config), before) {
				t.Fatal("the bootstrap does not say which protocol")
			}
			var spare []xds.Update
			for i := range 3 {
				spare = append(spare, shop.cluster(fmt.Sprintf("spare%d", i), ir.Static)...)
			}
			first := shop.first(ir.Static)
			first.Delta = append(first.Delta, spare...)
			shop.Publish(first)
			envoytest.Start(t, envoytest.Options{Config: []byte(text)})
			shop.waitOK()

			shop.Publish(translate.Result{Delta: gone(spare)})
			shop.until("it rests", func() bool {
				st := shop.audience("shop/a")[0]
				return st.holdsAll(cds) && len(st.rejected()) == 0
			})
			counts := func(want string) {
				t.Helper()
				got := shop.count(t, "gatefold_xds_pushes_total", "Cluster") + " messages, " + shop.count(t, "gatefold_xds_nacks_total", "Cluster") + " rejected"
				if got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			counts("5 messages, 3 rejected") // all of them, one by one: of four clusters one may go
			shop.swap(0, ir.Static)
			shop.waitOK()
			counts("7 messages, 3 rejected")
		})
	}
}
