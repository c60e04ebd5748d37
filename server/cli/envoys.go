package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gatefold/gatefold/server/health"
)

// noEndpoint is the text for a backend without any endpoint.
const noEndpoint = "it has no endpoint: no EndpointSlice gives one, its name is not resolved, or a BackendTLSPolicy closes it"

// printEnvoys prints a table with a row for each Envoy, for each endpoint that an Envoy does not use, and for
// each backend without endpoints. If the report lists only some of the unused endpoints of a backend, a further
// row has the number of the others. Without Envoys, nothing is printed.
func printEnvoys(out io.Writer, envoys []health.Envoy) error {
	if len(envoys) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nENVOY\tGATEWAY\tBACKEND\tHEALTHY\tENDPOINT\tWHY")
	for _, e := range envoys {
		node := oneLine(e.Node) + "\t" + gatewayServed(e)
		if e.Unknown != nil {
			fmt.Fprintf(w, "%s\t-\tunknown\t-\t%s\n", node, oneLine(e.Unknown.Message+"; "+e.Unknown.Hint))
			continue
		}
		fmt.Fprintf(w, "%s\tall\t%s\t-\t-\n", node, share(e.Healthy, e.NotChecked, e.Endpoints))
		for _, b := range e.Backends {
			row := fmt.Sprintf("%s\t%s\t%s", node, backendName(b), share(b.Healthy, b.NotChecked, b.Endpoints))
			for _, endpoint := range b.Unhealthy {
				fmt.Fprintf(w, "%s\t%s\t%s\n", row, endpointName(endpoint), endpoint.Message+policiesOf(b))
			}
			if n := b.Unlisted(); n > 0 {
				fmt.Fprintf(w, "%s\t%d more\t-\n", row, n)
			}
			if b.Endpoints == 0 {
				fmt.Fprintf(w, "%s\t-\t%s\n", row, noEndpoint)
			}
		}
	}
	return w.Flush()
}

// gatewayServed returns the Gateway that an Envoy serves, or "all" for an Envoy that serves all Gateways.
func gatewayServed(e health.Envoy) string {
	if !strings.Contains(e.NodeCluster, "/") {
		return "all"
	}
	return oneLine(e.NodeCluster)
}

// share returns in words how many of the endpoints are healthy: "5 of 6", "1 of 6, 4 not checked" or "6 not
// checked". The parameter total is the number of all endpoints.
func share(healthy, notChecked, total int) string {
	switch {
	case notChecked == 0:
		return fmt.Sprintf("%d of %d", healthy, total)
	case notChecked == total:
		return fmt.Sprintf("%d not checked", total)
	}
	return fmt.Sprintf("%d of %d, %d not checked", healthy, total, notChecked)
}

// backendName returns the object of a backend with its port, such as "Service shop/cart:80". If the port is 0,
// it returns only the object.
func backendName(b health.Backend) string {
	if b.Port == 0 {
		return b.Object.String()
	}
	return fmt.Sprintf("%s:%d", b.Object, b.Port)
}

// endpointName returns the address of an endpoint, with its hostname if it has one.
func endpointName(e health.Endpoint) string {
	if e.Hostname == "" {
		return oneLine(e.Address)
	}
	return oneLine(e.Address + " (" + e.Hostname + ")")
}

// policiesOf returns in brackets the policies that configure health checks and outlier detection of a backend.
// It returns "" if there are none.
func policiesOf(b health.Backend) string {
	if len(b.Policies) == 0 {
		return ""
	}
	names := make([]string, len(b.Policies))
	for i, policy := range b.Policies {
		names[i] = policy.String()
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// unwell reports whether an Envoy has a backend with a problem. If the backends are not known (Envoy.Unknown),
// the result is false.
func unwell(e health.Envoy) bool {
	return slices.ContainsFunc(e.Backends, func(b health.Backend) bool { return b.Wrong() })
}
