package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/ir"
)

// chains are the filters of listeners, and those for WebSockets, with the first Envoy that is sent them, in
// ir.FilterGeneration 1.
const chains = `gatefold/identities
envoy.filters.http.cors/host
envoy.filters.http.cors
gatefold/acl/response/host
gatefold/acl/response
gatefold/acl
envoy.filters.http.csrf
envoy.filters.http.oauth2 1.38
gatefold/jwt
envoy.filters.http.basic_auth
envoy.filters.http.header_mutation/basicAuth
envoy.filters.http.api_key_auth
envoy.filters.http.buffer
gatefold/extAuth/host 1.39
gatefold/extAuth 1.39
gatefold/rbac
envoy.filters.http.local_ratelimit
gatefold/rateLimit.global/host 1.39
gatefold/rateLimit.global 1.39
gatefold/extProc/host 1.39
gatefold/extProc 1.39
envoy.filters.http.header_mutation/host
envoy.filters.http.header_mutation
envoy.filters.http.header_mutation/headerModifiers/host
envoy.filters.http.header_mutation/headerModifiers
envoy.filters.http.header_mutation/location
envoy.filters.http.router
for WebSockets:
gatefold/identities
envoy.filters.http.cors/host
envoy.filters.http.cors
gatefold/acl/response/host
gatefold/acl/response
gatefold/acl
envoy.filters.http.csrf
envoy.filters.http.oauth2 1.38
gatefold/jwt
envoy.filters.http.basic_auth
envoy.filters.http.header_mutation/basicAuth
envoy.filters.http.api_key_auth
gatefold/extAuth/host 1.39
gatefold/extAuth 1.39
gatefold/rbac
envoy.filters.http.local_ratelimit
gatefold/rateLimit.global/host 1.39
gatefold/rateLimit.global 1.39
gatefold/extProc/upgrade/host 1.39
gatefold/extProc/upgrade 1.39
envoy.filters.http.header_mutation/host
envoy.filters.http.header_mutation
envoy.filters.http.header_mutation/headerModifiers/host
envoy.filters.http.header_mutation/headerModifiers
envoy.filters.http.header_mutation/location
envoy.filters.http.router
`

// A table that configures a filter goes to listeners that have it, because its name has the generation of their
// chain. So another chain is another generation.
func TestAnotherChainIsAnotherGeneration(t *testing.T) {
	var got strings.Builder
	for i, chain := range [][]*hcmv3.HttpFilter{httpFilterChain(), upgradeFilterChain()} {
		if i > 0 {
			got.WriteString("for WebSockets:\n")
		}
		for _, filter := range chain {
			got.WriteString(filter.Name)
			for _, f := range features() {
				if f.names(filter.Name) && f.chain != (Release{}) {
					fmt.Fprint(&got, " ", f.chain)
				}
			}
			got.WriteString("\n")
		}
	}
	if got.String() != chains {
		t.Errorf("the chain is another one: raise ir.FilterGeneration, set httpFilter.since of the filters that are new or sent to more Envoys, and write here\n%s", got.String())
	}
	for _, f := range configurable() {
		if f.since > ir.FilterGeneration {
			t.Errorf("%s is in the chain since generation %d, which is not there yet", f.name, f.since)
		}
	}
}

// Names of tables are read as they are written, also those of hosts that are called as a generation is.
func TestTableNames(t *testing.T) {
	for _, base := range []string{"ns/eg/http-80", "ns/eg/https-443/filters-1", "ns/eg/https-443/*.a.test"} {
		for generation := range 3 {
			name := ir.TableName(base, generation)
			if generation == 0 && strings.Contains(base, "filters-") {
				continue // of an earlier release, which had no generations: it is nobody's table
			}
			if got, of := ir.SplitTableName(name); got != base || of != generation {
				t.Errorf("%s is read as %s, %d", name, got, of)
			}
		}
	}
	for _, odd := range []string{"a/filters-", "a/filters-x", "a/filters-0", "a/filters--1"} {
		if got, of := ir.SplitTableName(odd); got != odd || of != 0 {
			t.Errorf("%s is read as %s, %d", odd, got, of)
		}
	}
}

// Every filter that listeners of an earlier generation lack closes what is configured for it.
func TestWhatAnEarlierChainLacksIsClosed(t *testing.T) {
	later := 0
	for _, f := range configurable() {
		route := marshal(&routev3.Route{
			Name: "r", Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			TypedPerFilterConfig: map[string]*anypb.Any{f.nameAt(ofHost): pack(&routev3.Decorator{Operation: "any"})},
		})
		table := RouteConfiguration(ir.TableName("t", ir.FilterGeneration), []Host{VirtualHost("*", nil, [][]byte{route})})
		for generation := range ir.FilterGeneration + 1 {
			earlier := TableForGeneration(&table, generation)
			closed := !slices.ContainsFunc(Pieces(earlier.Body), func(p Piece) bool { return string(p.Body) == string(route) })
			if want := f.since > generation; closed != want {
				t.Errorf("%s for generation %d: closed is %v", f.name, generation, closed)
			}
			if earlier.Name != ir.TableName("t", generation) {
				t.Errorf("the table is called %s", earlier.Name)
			}
		}
		later += f.since
	}
	if later == 0 {
		t.Error("no filter is later than generation 0")
	}
}
