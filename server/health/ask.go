package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The bounds of one question. Envoy 1.40.0 prints about 1 kB for an endpoint: 5,000
// clusters of two are 10 MB, made in 0.2 s.
const (
	askTime    = 2 * time.Second
	maxPage    = 64 << 20 // bytes
	maxHeaders = 16 << 10 // bytes
)

// The two pages that are asked for.
const (
	infoPage     = "/server_info"
	clustersPage = "/clusters?format=json"
)

var (
	errNotEnvoy = errors.New("it does not answer as Envoy does")
	errForeign  = errors.New("another Envoy answers there")
	errNoSocket = errors.New("it is not a socket")
)

// Ask gives what the Envoy named node says of its clusters. It reads at most 64 MiB and
// takes two seconds at most, or until ctx ends. No redirect is followed and no proxy used.
func Ask(ctx context.Context, at Address, node string) ([]Cluster, *Unknown) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	a, err := newAsker(at)
	if err != nil {
		return nil, unanswered(at, err)
	}
	defer a.transport.CloseIdleConnections()
	var clusters []Cluster
	err = a.get(ctx, infoPage, func(page io.Reader) error { return checkNode(page, node) })
	if err == nil {
		err = a.get(ctx, clustersPage, func(page io.Reader) error {
			clusters, err = readClusters(page)
			return err
		})
	}
	if err != nil {
		return nil, unanswered(at, err)
	}
	return clusters, nil
}

// asker asks one address, whatever a URL says.
type asker struct {
	transport *http.Transport
	client    http.Client
}

func newAsker(at Address) (*asker, error) {
	if at.network == "unix" {
		// A link beside gatefold's socket may lead anywhere.
		info, err := os.Lstat(at.address)
		if err != nil {
			return nil, err
		}
		if info.Mode().Type() != fs.ModeSocket {
			return nil, errNoSocket
		}
	}
	a := &asker{transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, at.network, at.address)
		},
		DisableCompression:     true, // a small answer must not become a large one
		MaxResponseHeaderBytes: maxHeaders,
	}}
	a.client = http.Client{
		Transport:     a.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return a, nil
}

func (a *asker) get(ctx context.Context, page string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+page, nil)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", errNotEnvoy, response.StatusCode)
	}
	return read(http.MaxBytesReader(nil, response.Body, maxPage))
}

// checkNode reads /server_info. Where an Envoy runs in a network of its own, its
// loopback is not gatefold's, and someone else may answer there.
func checkNode(page io.Reader, node string) error {
	var info struct {
		Node struct {
			ID string `json:"id"`
		} `json:"node"`
	}
	if err := json.NewDecoder(page).Decode(&info); err != nil {
		return err
	}
	if info.Node.ID != node {
		return errForeign
	}
	return nil
}

// readClusters reads /clusters (envoy.admin.v3.Clusters), cluster by cluster: only what
// is unhealthy is kept.
func readClusters(page io.Reader) ([]Cluster, error) {
	d := json.NewDecoder(page)
	for _, want := range []json.Token{json.Delim('{'), "cluster_statuses", json.Delim('[')} {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		if token == json.Delim('}') {
			return nil, nil // no cluster
		}
		if token != want {
			return nil, errNotEnvoy
		}
	}
	var clusters []Cluster
	for d.More() {
		var status clusterStatus
		if err := d.Decode(&status); err != nil {
			return nil, err
		}
		clusters = append(clusters, status.cluster())
	}
	_, err := d.Token() // where the page breaks off, More is false, too
	return clusters, err
}

// clusterStatus is the part of envoy.admin.v3.ClusterStatus that is read.
type clusterStatus struct {
	Name  string       `json:"name"`
	Hosts []hostStatus `json:"host_statuses"`
}

func (s *clusterStatus) cluster() Cluster {
	c := Cluster{Name: s.Name, Endpoints: len(s.Hosts)}
	for _, host := range s.Hosts {
		reasons := host.Health.reasons()
		if len(reasons) == 0 {
			continue
		}
		words := make([]string, len(reasons))
		for i, reason := range reasons {
			words[i] = reason.words()
		}
		socket := host.Address.Socket
		c.Unhealthy = append(c.Unhealthy, Endpoint{
			Address:  net.JoinHostPort(socket.Address, strconv.FormatUint(uint64(socket.Port), 10)),
			Hostname: host.Hostname, Reasons: reasons, Message: strings.Join(words, "; "),
		})
	}
	return c
}

// hostStatus is the part of envoy.admin.v3.HostStatus that is read. gatefold makes
// endpoints of sockets only.
type hostStatus struct {
	Address struct {
		Socket struct {
			Address string `json:"address"`
			Port    uint32 `json:"port_value"`
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

// unanswered says why there was no usable answer, in our own words: nothing that the
// other side sent is repeated.
func unanswered(at Address, err error) *Unknown {
	u := &Unknown{Hint: "see whether its admin listens there, and is on the network of gatefold"}
	var tooLong *http.MaxBytesError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		u.Message = "it did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		u.Message = "nothing listens there"
	case errors.Is(err, fs.ErrPermission):
		u.Message, u.Hint = "gatefold may not use it", "run both as one user"
	case errors.As(err, &tooLong):
		u.Message, u.Hint = fmt.Sprintf("its answer is larger than %d MiB", maxPage>>20), "look at its page /clusters"
	case errors.Is(err, errNoSocket):
		u.Message = errNoSocket.Error()
	case errors.Is(err, errForeign):
		u.Message, u.Hint = errForeign.Error(), "give each Envoy an admin address and a node id of its own"
	default:
		u.Message = errNotEnvoy.Error()
	}
	u.Message = fmt.Sprintf("its admin address %s was asked: %s", at.address, u.Message)
	return u
}
