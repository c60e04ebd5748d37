package health

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// bounded reads at most left bytes, and value of them until someone sets it anew.
type bounded struct {
	page        io.Reader
	left, value int
}

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

// checkNode reads /server_info. Where an Envoy runs in a network of its own, its
// loopback is not gatefold's, and someone else may answer there.
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

// inventory gathers what an Envoy says of the clusters that are known. What it holds is
// bounded whatever the page says: by the known clusters, and by maxListed.
type inventory struct {
	known   map[string]*ir.Cluster
	seen    map[string]bool
	healthy int
	// notChecked are those that no health check and no outlier detection watches.
	notChecked int
	endpoints  int
	listed     int // of all backends' Unhealthy
	backends   []Backend
}

// read reads /clusters (envoy.admin.v3.Clusters), cluster by cluster.
func (i *inventory) read(page io.Reader) error {
	b := &bounded{page, maxPage, maxCluster}
	d := json.NewDecoder(b)
	for _, want := range []json.Token{json.Delim('{'), "cluster_statuses", json.Delim('[')} {
		token, err := d.Token()
		if err != nil {
			return err
		}
		if token == json.Delim('}') {
			return nil // no cluster
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
	_, err := d.Token() // where the page breaks off, More is false, too
	return err
}

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

// checks reports whether Envoy finds out by itself which endpoints of a cluster are healthy.
func checks(c *ir.Cluster) bool {
	return c.Upstream != nil && (c.Upstream.HealthCheck != nil || c.Upstream.Outliers != nil)
}

// clusterStatus is the part of envoy.admin.v3.ClusterStatus that is read.
type clusterStatus struct {
	Name  string   `json:"name"`
	Hosts hostList `json:"host_statuses"`
}

// hostList counts endpoints and keeps at most maxListed of the unhealthy.
type hostList struct {
	all, bad  int
	unhealthy []Endpoint
}

// UnmarshalJSON reads a list of hosts one by one: decoded at once, they would take much more
// memory than their text.
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

// hostStatus is the part of envoy.admin.v3.HostStatus that is read. gatefold makes
// endpoints of IP addresses and ports only.
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

// hostHealth is envoy.admin.v3.HostHealthStatus but for pending_dynamic_removal: such an
// endpoint is used as long as it is healthy.
type hostHealth struct {
	FailedCheck    bool   `json:"failed_active_health_check"`
	FailedOutlier  bool   `json:"failed_outlier_check"`
	FailedDegraded bool   `json:"failed_active_degraded_check"`
	Pending        bool   `json:"pending_active_hc"`
	Immediate      bool   `json:"excluded_via_immediate_hc_fail"`
	Timeout        bool   `json:"active_hc_timeout"`
	Discovery      string `json:"eds_health_status"`
}

// reasons are empty for a healthy endpoint. Pending and Timeout say more closely why the
// check failed.
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
