package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// The bounds of the requests to one Envoy. Envoy 1.40.0 prints about 1 kB for an endpoint. So 5,000 clusters
// with two endpoints are 10 MB, which Envoy prints in 0.2 s.
const (
	askTime    = 2 * time.Second // for both pages together
	maxHeaders = 16 << 10        // bytes
	maxInfo    = 1 << 20         // bytes of the page /server_info
	maxPage    = 64 << 20        // bytes of the page /clusters
	maxCluster = 8 << 20         // bytes of one cluster in the page /clusters
	maxListed  = 1000            // unhealthy endpoints of one Envoy
)

// The two admin pages that are requested.
const (
	infoPage     = "/server_info"
	clustersPage = "/clusters?format=json"
)

var (
	errNotEnvoy = errors.New("it does not answer as Envoy does")
	errForeign  = errors.New("another Envoy answers there")
	errNoSocket = errors.New("it is not a socket")
	errTooLarge = errors.New("its answer is too large")
)

// Ask requests the admin pages of an Envoy, and stores the health of the Envoy's clusters in e. The parameter at
// is the address of the admin pages. The parameter known has, by name, the clusters that are made from the user's
// folder; Ask ignores other clusters. If the health cannot be read, Ask stores the reason in e.Unknown. Ask takes
// at most two seconds. It reads at most 64 MiB of the page /clusters, of which at most 8 MiB for one cluster. It
// follows no redirect and uses no proxy.
func (e *Envoy) Ask(ctx context.Context, at Address, known map[string]*ir.Cluster) {
	found := inventory{known: known, seen: map[string]bool{}}
	if err := ask(ctx, at, e.Node, &found); err != nil {
		e.Unknown = unanswered(at, err)
		return
	}
	slices.SortFunc(found.backends, func(a, b Backend) int { return strings.Compare(a.Cluster, b.Cluster) })
	e.Healthy, e.NotChecked, e.Endpoints, e.Backends = found.healthy, found.notChecked, found.endpoints, found.backends
}

// ask requests the admin pages of an Envoy, and adds the health of the Envoy's clusters to the inventory (the
// parameter found). The parameter at is the address of the admin pages, and node is the node.id that the Envoy must
// have. ask returns an error if a page cannot be read, or if another Envoy answers.
func ask(ctx context.Context, at Address, node string, found *inventory) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	a, err := newAsker(at)
	if err != nil {
		return err
	}
	defer a.transport.CloseIdleConnections()
	err = a.get(ctx, infoPage, func(page io.Reader) error { return checkNode(page, node) })
	if err != nil {
		return err
	}
	return a.get(ctx, clustersPage, found.read)
}

// asker is an HTTP client for one admin address. It connects to that address whatever host a URL has.
type asker struct {
	transport *http.Transport
	client    http.Client
}

// newAsker returns an asker for one address (the parameter at). If the address is a unix socket, the file must be
// a socket: if no file exists, or the file is something else (for example a link), newAsker returns an error.
func newAsker(at Address) (*asker, error) {
	if at.network == "unix" {
		// A link next to gatefold's socket could point to any socket.
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

// get requests a page and calls the function read with the body. It returns an error if the request fails or the
// status is not 200; otherwise it returns the error of read.
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
	return read(response.Body)
}

// unanswered converts the error of a request to the reason that users see. The parameter at is the address to
// which the request was sent. No text from the other side is repeated: all texts are gatefold's own.
func unanswered(at Address, err error) *Unknown {
	u := &Unknown{Hint: "see whether its admin listens there, and is on the network of gatefold"}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		u.Message = "it did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		u.Message = "nothing listens there"
	case errors.Is(err, fs.ErrPermission):
		u.Message, u.Hint = "gatefold may not use it", "run both as one user"
	case errors.Is(err, errTooLarge):
		u.Message, u.Hint = errTooLarge.Error(), "look at its page /clusters"
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
