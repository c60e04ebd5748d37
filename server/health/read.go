package health

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// bounded reads an admin page of Envoy, and returns errTooLarge if the page or one cluster in it is too large.
type bounded struct {
	page  io.Reader
	left  int // how many bytes of the page may still be read
	value int // how many bytes of the present cluster may still be read; the caller sets it again after each cluster
}

// Read implements io.Reader. It returns errTooLarge if a bound is used up.
func (b *bounded) Read(p []byte) (int, error) {
	n := min(len(p), b.left, b.value)
	if n <= 0 {
		return 0, errTooLarge
	}
	n, err := b.page.Read(p[:n])
	b.left -= n
	b.value -= n
	return n, err
}

// checkNode checks that the page /server_info is from the expected Envoy, whose node.id is the parameter node. If
// the page has another node.id, it returns errForeign. Another error means that the page cannot be decoded.
// Without the check, another program could answer: an Envoy with its own network namespace does not listen on
// gatefold's loopback.
func checkNode(page io.Reader, node string) error {
	var info struct {
		Node struct {
			ID string `json:"id"`
		} `json:"node"`
	}
	if err := json.NewDecoder(&bounded{page, maxInfo, maxInfo}).Decode(&info); err != nil {
		return err
	}
	if info.Node.ID != node {
		return errForeign
	}
	return nil
}

// inventory collects the health of an Envoy's clusters from its admin pages. It ignores clusters that are not in
// the field known. Whatever the pages contain, the size of the inventory is bounded by the number of known clusters
// and by maxListed.
type inventory struct {
	known   map[string]*ir.Cluster
	seen    map[string]bool
	healthy int
	// notChecked counts the endpoints without a known fault that have neither health checks nor outlier detection.
	notChecked int
	endpoints  int
	listed     int // the sum of the lengths of Backend.Unhealthy in backends
	backends   []Backend
}

// read reads the page /clusters (envoy.admin.v3.Clusters), one cluster at a time. It returns an error if the page
// is truncated, too large, or not from an Envoy.
func (i *inventory) read(page io.Reader) error {
	b := &bounded{page, maxPage, maxCluster}
	d := json.NewDecoder(b)
	for _, want := range []json.Token{json.Delim('{'), "cluster_statuses", json.Delim('[')} {
		token, err := d.Token()
		if err != nil {
			return err
		}
		if token == json.Delim('}') {
			return nil // there is no cluster
		}
		if token != want {
			return errNotEnvoy
		}
	}
	for d.More() {
		var status clusterStatus
		if err := d.Decode(&status); err != nil {
			return err
		}
		b.value = maxCluster
		i.add(&status)
	}
	_, err := d.Token() // More is also false if the page is truncated
	return err
}

// add counts the endpoints of one cluster of the page. It ignores a cluster that is not in i.known, that is made from
// no object, or that was already added. If the cluster has an unhealthy endpoint or no endpoint, add also appends a
// Backend to i.backends. All backends together list at most maxListed unhealthy endpoints.
func (i *inventory) add(status *clusterStatus) {
	from := i.known[status.Name]
	if from == nil || len(from.Objects) == 0 || i.seen[status.Name] {
		return
	}
	i.seen[from.Name] = true
	all, unhealthy := status.Hosts.all, status.Hosts.unhealthy
	healthy, notChecked := all-status.Hosts.bad, 0
	if !checks(from) {
		healthy, notChecked = 0, healthy
	}
	i.healthy += healthy
	i.notChecked += notChecked
	i.endpoints += all
	if all > 0 && status.Hosts.bad == 0 {
		return
	}
	unhealthy = unhealthy[:min(len(unhealthy), maxListed-i.listed)]
	i.listed += len(unhealthy)
	i.backends = append(i.backends, Backend{
		Object: from.Objects[0], Port: portOf(from), Cluster: from.Name, Policies: policiesOf(from),
		Healthy: healthy, NotChecked: notChecked, Endpoints: all, Unhealthy: unhealthy,
	})
}

// checks reports whether Envoy itself determines which endpoints of a cluster are healthy, by health checks or
// outlier detection.
func checks(c *ir.Cluster) bool {
	return c.Upstream != nil && (c.Upstream.HealthCheck != nil || c.Upstream.Outliers != nil)
}

// clusterStatus has the fields of envoy.admin.v3.ClusterStatus that are read.
type clusterStatus struct {
	Name  string   `json:"name"`
	Hosts hostList `json:"host_statuses"`
}

// hostList has the number of endpoints of one cluster, and its unhealthy endpoints.
type hostList struct {
	all, bad  int        // the number of endpoints, and of unhealthy endpoints
	unhealthy []Endpoint // the first unhealthy endpoints, at most maxListed
}

// UnmarshalJSON implements json.Unmarshaler. It reads a list of endpoints one by one, because to decode them at
// once would need much more memory than their text. It returns an error if the list is invalid.
func (l *hostList) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return errNotEnvoy
	}
	for d.More() {
		var host hostStatus
		if err := d.Decode(&host); err != nil {
			return err
		}
		if err := l.add(&host); err != nil {
			return err
		}
	}
	return nil
}

// add counts an endpoint. If the endpoint is unhealthy, add also appends it to l.unhealthy, unless that list
// already has maxListed endpoints. If the address of an endpoint to append is not an IP address, add returns
// errNotEnvoy.
func (l *hostList) add(host *hostStatus) error {
	l.all++
	reasons := host.Health.reasons()
	if len(reasons) == 0 {
		return nil
	}
	if l.bad++; len(l.unhealthy) == maxListed {
		return nil
	}
	ip, err := netip.ParseAddr(host.Address.Socket.Address)
	if err != nil {
		return errNotEnvoy
	}
	said := make([]string, len(reasons))
	for i, reason := range reasons {
		said[i] = words[reason]
	}
	hostname := host.Hostname[:min(len(host.Hostname), maxHostname)]
	l.unhealthy = append(l.unhealthy, Endpoint{
		Address:  netip.AddrPortFrom(ip, host.Address.Socket.Port).String(),
		Hostname: strings.ToValidUTF8(hostname, ""), Reasons: reasons, Message: strings.Join(said, "; "),
	})
	return nil
}

// maxHostname is the longest DNS name, in bytes.
const maxHostname = 253

// hostStatus has the fields of envoy.admin.v3.HostStatus that are read. gatefold makes only endpoints with IP
// addresses and ports.
type hostStatus struct {
	Address struct {
		Socket struct {
			Address string `json:"address"`
			Port    uint16 `json:"port_value"`
		} `json:"socket_address"`
	} `json:"address"`
	Hostname string     `json:"hostname"`
	Health   hostHealth `json:"health_status"`
}

// hostHealth has the fields of envoy.admin.v3.HostHealthStatus except pending_dynamic_removal: Envoy still uses an
// endpoint that is to be removed, as long as the endpoint is healthy.
type hostHealth struct {
	FailedCheck    bool   `json:"failed_active_health_check"`
	FailedOutlier  bool   `json:"failed_outlier_check"`
	FailedDegraded bool   `json:"failed_active_degraded_check"`
	Pending        bool   `json:"pending_active_hc"`
	Immediate      bool   `json:"excluded_via_immediate_hc_fail"`
	Timeout        bool   `json:"active_hc_timeout"`
	Discovery      string `json:"eds_health_status"`
}

// reasons returns why Envoy does not use an endpoint; nil if the endpoint is healthy. Of CheckPending,
// CheckTimeout, CheckFailed and CheckDegraded, it returns only the first that applies, because that one is the most
// specific.
func (h *hostHealth) reasons() (reasons []Reason) {
	switch {
	case h.Pending:
		reasons = append(reasons, CheckPending)
	case h.Timeout:
		reasons = append(reasons, CheckTimeout)
	case h.FailedCheck:
		reasons = append(reasons, CheckFailed)
	case h.FailedDegraded:
		reasons = append(reasons, CheckDegraded)
	}
	if h.Immediate {
		reasons = append(reasons, TurnedAway)
	}
	if h.FailedOutlier {
		reasons = append(reasons, Ejected)
	}
	switch h.Discovery {
	case "", "UNKNOWN", "HEALTHY":
	case "DRAINING":
		reasons = append(reasons, Draining)
	default:
		reasons = append(reasons, Discovered)
	}
	return reasons
}
