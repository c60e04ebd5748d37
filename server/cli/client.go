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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/admin"
)

// client sends requests to the admin pages of a running gatefold.
type client struct {
	// address is "HOST:PORT", "unix:/path", or an http or https URL.
	address string
	timeout time.Duration
	// errors returns the writer to which the command prints that it is waiting. If it is nil, nothing is
	// printed.
	errors func() io.Writer
}

// defaultTimeout and healthTimeout are defaults of --timeout, which is how long a command waits for a response.
// healthTimeout is for the command healthcheck. It is shorter than the timeout of HEALTHCHECK in the Dockerfile.
const defaultTimeout, healthTimeout = 5 * time.Second, 2 * time.Second

// sayAfter is how long a command waits for a response before it prints what it waits for.
const sayAfter = time.Second

// adminFlag is the flag for the address of a running gatefold, and serverAlias is another name for it.
const adminFlag, serverAlias = "admin-address", "server"

// aliasAnnotation is the annotation of a flag that has the other names of the flag.
const aliasAnnotation = "gatefold_alias"

// aliasesOf returns the other names of a flag.
func aliasesOf(f *pflag.Flag) []string { return f.Annotations[aliasAnnotation] }

// register adds the flags of the client to a command. The parameter timeout is the default of --timeout. The
// parameter when says when the address is used, such as " when no DIR is given", or is "" if it is always used.
func (c *client) register(cmd *cobra.Command, timeout time.Duration, when string) {
	c.errors = cmd.ErrOrStderr
	flags := cmd.Flags()
	flags.StringVar(&c.address, adminFlag, defaultAdminAddress, "admin address of the running gatefold that is asked"+when+": HOST:PORT, unix:/path or http://…; --"+serverAlias+" is the same flag")
	address := flags.Lookup(adminFlag)
	markSetting(address)
	annotate(address, aliasAnnotation, serverAlias)
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == serverAlias {
			name = adminFlag
		}
		return pflag.NormalizedName(name)
	})
	flags.DurationVar(&c.timeout, "timeout", timeout, "how long to wait for the answer")
}

// serverGiven reports whether the command line names a running gatefold. It must be called from the Args function of
// a command: later, the flag may be set by the environment or a settings file, which never replace an argument.
func serverGiven(cmd *cobra.Command) bool { return cmd.Flags().Changed(adminFlag) }

// orAsk adds to the error of a request how to ask something else, if no address of a gatefold was set. The parameter
// other is how to name a folder instead.
func (c *client) orAsk(err error, other string) error {
	if err == nil || c.address != defaultAdminAddress {
		return err
	}
	return fmt.Errorf("%w; %s, and another gatefold by --%s", err, other, adminFlag)
}

// maxAnswer limits how much of a response is read, in bytes.
const maxAnswer = 1 << 30

// get sends a GET request for a page, such as "/readyz", and returns status code and body. The errors are those
// of ask.
func (c *client) get(ctx context.Context, page string) (int, []byte, error) {
	return c.ask(ctx, http.MethodGet, page)
}

// ask sends a request for a page and returns status code and body. It returns an error if there was no complete
// response, if the address is invalid, or if gatefold failed (status 500).
func (c *client) ask(ctx context.Context, method, page string) (code int, body []byte, err error) {
	err = c.stream(ctx, method, page, func(answered int, from io.Reader) error {
		code = answered
		if body, err = io.ReadAll(from); err != nil {
			return fmt.Errorf("the answer of gatefold at %s is incomplete: %w", c.address, rootCause(err))
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	return code, body, nil
}

// stream sends a request for a page, and calls the function read with the status code and the body (at most
// maxAnswer bytes). It returns the error of the function read. It also returns an error, without calling read, if
// the address is invalid, if there was no response, or if the status is 500.
func (c *client) stream(ctx context.Context, method, page string, read func(code int, body io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	base, transport := c.route()
	request, err := http.NewRequestWithContext(ctx, method, base+page, nil)
	if err != nil {
		return fmt.Errorf("--%s %q: %w", adminFlag, c.address, err)
	}
	defer c.sayWaiting(page)()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("cannot reach gatefold at %s: %w", c.address, rootCause(err))
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusInternalServerError {
		return fmt.Errorf("gatefold at %s failed to answer: internal error; see its log", c.address)
	}
	return read(response.StatusCode, io.LimitReader(response.Body, maxAnswer))
}

// sayWaiting prints, after sayAfter, which page the command still waits for. For a reload it also prints, after
// admin.BusyAlarm plus sayAfter, which step the reload waits for. The caller must call done when the response
// arrives: nothing is printed after that. Nothing is printed if c.errors is nil, or if c.timeout is at most sayAfter.
func (c *client) sayWaiting(page string) (done func()) {
	if c.errors == nil || c.timeout <= sayAfter {
		return func() {}
	}
	page, _, _ = strings.Cut(page, "?")
	waiting := later(sayAfter, func(context.Context) {
		fmt.Fprintf(c.errors(), "gatefold: waiting for gatefold at %s to answer %s, for %s at most (--timeout)\n", c.address, page, c.timeout)
	})
	if page != admin.ReloadPath {
		return waiting
	}
	busy := later(admin.BusyAlarm+sayAfter, c.sayBusy)
	return func() { waiting(); busy() }
}

// later calls do after the given time, unless stop is called before. If do runs when stop is called, stop ends its
// context and waits for it.
func later(after time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(ended)
		do(ctx)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-ended
		}
	}
}

// sayBusy prints which step a reload waits for. It prints nothing if gatefold does not report a slow step.
func (c *client) sayBusy(ctx context.Context) {
	quick, list := client{address: c.address, timeout: sayAfter}, problemList{}
	if err := quick.getJSON(ctx, "/api/v1/problems", &list); err == nil && list.Busy != "" {
		fmt.Fprintln(c.errors(), "gatefold: still waiting:", oneLine(list.Busy))
	}
}

// getJSON requests a page and decodes its JSON into value. The errors are those of get and parse.
func (c *client) getJSON(ctx context.Context, page string, value any) error {
	code, body, err := c.get(ctx, page)
	if err != nil {
		return err
	}
	return c.parse(page, code, body, value)
}

// parse decodes the JSON body of a response into value. It returns an error if the status is not 200, or if the
// body is not valid JSON for value.
func (c *client) parse(page string, code int, body []byte, value any) error {
	if code != http.StatusOK {
		return fmt.Errorf("%s answers %d to %s: %s", c.address, code, page, said(body))
	}
	if err := json.Unmarshal(body, value); err != nil {
		return fmt.Errorf("%s does not answer as gatefold does: %w", c.address, err)
	}
	return nil
}

// route returns the base URL for the address, and an HTTP transport.
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

// reachable returns an address to which a client can connect, for an address on which a server listens: "all
// interfaces" becomes 127.0.0.1. So serve and its clients accept the same value. An address without a port is
// returned unchanged.
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

// said returns the field "error" of a JSON response. It returns the whole body if the field is missing or
// empty.
func said(body []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Error != "" {
		return answer.Error
	}
	return strings.TrimSpace(string(body))
}

// rootCause returns the innermost error of a chain, such as "connect: connection refused", for a message that
// already names the URL and the address. For a timeout or a closed connection, it returns an error with a
// clearer text.
func rootCause(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time (--timeout)")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("connection closed unexpectedly")
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
