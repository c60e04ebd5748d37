package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// client asks the admin pages of a running gatefold.
type client struct {
	// address is "HOST:PORT", "unix:/path" or an http URL.
	address string
	timeout time.Duration
}

func (c *client) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.address, "admin-address", defaultAdminAddress, "admin address of the running gatefold: HOST:PORT, unix:/path or http://…")
	flags.DurationVar(&c.timeout, "timeout", 5*time.Second, "how long to wait for the answer")
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 30

// get asks for a page, such as "/readyz".
func (c *client) get(ctx context.Context, page string) (int, []byte, error) {
	return c.ask(ctx, http.MethodGet, page)
}

// ask gives the status code and the body of a page. The error says that there
// was no answer.
func (c *client) ask(ctx context.Context, method, page string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	base, transport := c.route()
	request, err := http.NewRequestWithContext(ctx, method, base+page, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("--admin-address %q: %w", c.address, err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("no gatefold answers on %s: %w", c.address, rootCause(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("the answer of %s broke off: %w", c.address, err)
	}
	return response.StatusCode, body, nil
}

// getJSON reads a page into value; any code but 200 is an error.
func (c *client) getJSON(ctx context.Context, page string, value any) error {
	code, body, err := c.get(ctx, page)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("%s answers %d to %s: %s", c.address, code, page, said(body))
	}
	if err := json.Unmarshal(body, value); err != nil {
		return fmt.Errorf("%s does not answer as gatefold does: %w", c.address, err)
	}
	return nil
}

// route gives the URL to begin with and the way there.
func (c *client) route() (string, http.RoundTripper) {
	transport := &http.Transport{DisableKeepAlives: true}
	if path, ok := strings.CutPrefix(c.address, "unix:"); ok {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return "http://localhost", transport
	}
	if strings.HasPrefix(c.address, "http://") || strings.HasPrefix(c.address, "https://") {
		return strings.TrimSuffix(c.address, "/"), transport
	}
	return "http://" + reachable(c.address), transport
}

// reachable puts this host in the place of "all interfaces", so that serve and
// its clients can be given one value.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	ip, err := netip.ParseAddr(host)
	if host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// said is the error of an answer's body, or the body itself.
func said(body []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Error != "" {
		return answer.Error
	}
	return strings.TrimSpace(string(body))
}

// rootCause is the last error of a chain: "connect: connection refused" without
// the URL and addresses that were named already.
func rootCause(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the time is up")
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
