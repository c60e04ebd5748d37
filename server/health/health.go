// Package health requests from a connected Envoy which endpoints it considers unhealthy, and why.
//
// Envoy reports both only on its admin page /clusters. gatefold requests that page once for each query of a
// user, and never by itself. It does not trust the admin address that an Envoy claims. address.go decides which
// address may be requested. ask.go accepts only answers of an Envoy with the expected node.id. read.go bounds
// what is read.
package health

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Envoy is a connected Envoy and the endpoints that it does not use. docs/json.md documents its JSON.
type Envoy struct {
	// Node and NodeCluster are node.id and node.cluster of its bootstrap.
	Node        string `json:"node"`
	NodeCluster string `json:"nodeCluster"`
	Version     string `json:"version,omitempty"`
	Peer        string `json:"peer"`
	// Unknown says why the health of its endpoints is not known; nil if it is known.
	Unknown *Unknown `json:"unknown,omitempty"`
	// Healthy is how many of all Endpoints are healthy, over all backends. NotChecked counts the endpoints without
	// a known fault that have neither health checks nor outlier detection; they do not count as Healthy.
	Healthy    int `json:"healthy,omitempty"`
	NotChecked int `json:"notChecked,omitempty"`
	Endpoints  int `json:"endpoints,omitempty"`
	// Backends are the backends that have an unhealthy endpoint or no endpoint, sorted by Cluster.
	Backends []Backend `json:"backends,omitempty"`
}

// Backend is one cluster of an Envoy, with the objects from which it is made.
type Backend struct {
	// Object is a Backend, or a Service. For a Service, Port is the port of the Service.
	Object manifest.Key `json:"object"`
	Port   int          `json:"port,omitempty"`
	// Cluster is the name of the cluster in Envoy.
	Cluster string `json:"cluster"`
	// Policies are the BackendConfigPolicies that apply to it.
	Policies   []manifest.Key `json:"policies,omitempty"`
	Healthy    int            `json:"healthy,omitempty"`
	NotChecked int            `json:"notChecked,omitempty"`
	Endpoints  int            `json:"endpoints,omitempty"`
	// Unhealthy lists the unhealthy endpoints, at most 1,000 for one Envoy.
	Unhealthy []Endpoint `json:"unhealthy,omitempty"`
}

// Endpoint is an unhealthy endpoint: Envoy sends it requests only if too few other endpoints are healthy.
type Endpoint struct {
	// Address is "ip:port". Hostname is the DNS name from which it was resolved.
	Address  string `json:"address"`
	Hostname string `json:"hostname,omitempty"`
	// Reasons is never empty. Message is its text.
	Reasons []Reason `json:"reasons"`
	Message string   `json:"message"`
}

// Unknown says why the health of an Envoy's endpoints is not known, and what to do.
type Unknown struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Reason is why Envoy does not use an endpoint.
type Reason string

// The reasons, each with Envoy's name (envoy.admin.v3.HostHealthStatus).
const (
	CheckPending  Reason = "ActiveHealthCheckPending"    // pending_active_hc
	CheckTimeout  Reason = "ActiveHealthCheckTimeout"    // active_hc_timeout
	CheckFailed   Reason = "ActiveHealthCheckFailed"     // failed_active_health_check
	TurnedAway    Reason = "ImmediateHealthCheckFailure" // excluded_via_immediate_hc_fail
	Ejected       Reason = "OutlierEjected"              // failed_outlier_check
	CheckDegraded Reason = "ActiveHealthCheckDegraded"   // failed_active_degraded_check
	Draining      Reason = "Draining"                    // eds_health_status DRAINING
	Discovered    Reason = "UnhealthyByDiscovery"        // other bad values of eds_health_status
)

// words has the text of each reason for users.
var words = map[Reason]string{
	CheckPending:  "it was not health-checked yet",
	CheckTimeout:  "its health check times out",
	CheckFailed:   "its health check fails",
	TurnedAway:    "it answered that it is to be left out (x-envoy-immediate-health-check-fail)",
	Ejected:       "outlier detection ejected it",
	CheckDegraded: "its health check says that it is degraded",
	Draining:      "its EndpointSlice says that it terminates",
	Discovered:    "discovery says that it is unhealthy",
}

// portOf returns the port of the Service from which a cluster is made. It takes the port from the cluster's name
// (backend.Key), and returns 0 if the name has none.
func portOf(c *ir.Cluster) int {
	text, _ := strings.CutPrefix(c.Name, c.Objects[0].Kind+"/"+c.Objects[0].Namespace+"/"+c.Objects[0].Name+"/")
	text, _, _ = strings.Cut(text, "/")
	port, _ := strconv.Atoi(text) // without a port the text is no number, and the result is 0
	return port
}

// policiesOf returns the BackendConfigPolicies from which a cluster is made.
func policiesOf(c *ir.Cluster) (policies []manifest.Key) {
	for _, key := range c.Objects {
		if key.Kind == "BackendConfigPolicy" {
			policies = append(policies, key)
		}
	}
	return policies
}

// Wrong reports whether a person should look at the backend. It returns true if the backend has no endpoint, has
// an endpoint that is unhealthy for another reason than Draining, or has unhealthy endpoints that are not listed.
func (b *Backend) Wrong() bool {
	return b.Endpoints == 0 || b.Unlisted() > 0 || slices.ContainsFunc(b.Unhealthy, func(e Endpoint) bool {
		return !slices.Equal(e.Reasons, []Reason{Draining})
	})
}

// Unlisted returns how many unhealthy endpoints the backend has in addition to those in the list Unhealthy, which
// is bounded.
func (b *Backend) Unlisted() int { return b.Endpoints - b.Healthy - b.NotChecked - len(b.Unhealthy) }

// IsLocal reports whether a network address is on this host: loopback, or a unix socket.
func IsLocal(peer net.Addr) bool {
	switch a := peer.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}
