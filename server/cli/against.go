package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/server/probe"
	"github.com/gatefold/gatefold/translate/expect"
)

// sendTimes is how many times the HTTP request of a line of a test file is sent, if the line expects several
// backends. All other lines are sent once.
const sendTimes = 100

// target is a value of --against: the address of an Envoy, and which tests (lines of test files) are sent to
// it.
type target struct {
	text string
	// scheme and port select the lines: the URL of a line must have this scheme and this port. "" means every
	// scheme, and 0 means every port.
	scheme string
	port   uint32
	// host is the host name or IP address of the Envoy.
	host string
	// to is the port of the Envoy. 0 means that each line is sent to the port in its URL.
	to uint32
}

// parseTarget parses a value of --against: HOST, HOST:PORT or a URL without a path. PORT= may stand in front of
// each of them. For other texts it returns an error that names --against and the text.
func parseTarget(text string) (t target, err error) {
	wrong := fmt.Errorf("--against %q: must be a URL such as http://127.0.0.1:8080, an address, or PORT=ADDRESS for the lines of one port", text)
	t.text = text
	rest := text
	if port, address, found := strings.Cut(rest, "="); found {
		if t.port, err = portNumber(port); err != nil {
			return t, wrong
		}
		rest = address
	}
	if strings.Contains(rest, "://") {
		u, err := url.Parse(rest)
		if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
			return t, wrong
		}
		t.scheme, rest = u.Scheme, u.Host
	}
	t.host = strings.Trim(rest, "[]")
	if host, port, err := net.SplitHostPort(rest); err == nil {
		if t.to, err = portNumber(port); err != nil {
			return t, wrong
		}
		t.host = host
	}
	if t.host == "" || strings.ContainsAny(t.host, "/ ") {
		return t, wrong
	}
	return t, nil
}

// portNumber parses a port. It returns an error for 0.
func portNumber(text string) (uint32, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err == nil && port == 0 {
		err = strconv.ErrRange
	}
	return uint32(port), err
}

// takes reports whether the target accepts a line of a test file: the line's port and scheme are those of t. A
// port of 0 or a scheme of "" in t accepts every port or scheme.
func (t target) takes(r expect.Request) bool {
	return (t.port == 0 || t.port == r.Port()) && (t.scheme == "" || t.scheme == r.URL.Scheme)
}

// address returns the HOST:PORT of the target for a line.
func (t target) address(r expect.Request) string {
	port := t.to
	if port == 0 {
		port = r.Port()
	}
	return net.JoinHostPort(t.host, strconv.FormatUint(uint64(port), 10))
}

// sendAll sends each line of the test files to an Envoy, one after the other: to the first value of --against
// that accepts the line. It compares each response with what the line expects. The report also has the lines
// that could not be sent, with the reason. It returns an error if a value of --against is invalid or ctx ends.
func (o *testOptions) sendAll(ctx context.Context, requests []expect.Request, observer *expect.Observer) (*expect.Report, error) {
	var targets []target
	for _, text := range o.against {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	client := probe.Client{Timeout: o.timeout, Address: func(r expect.Request) (string, error) {
		for _, t := range targets {
			if t.takes(r) {
				return t.address(r), nil
			}
		}
		return "", fmt.Errorf("--against has no address for port %d", r.Port())
	}}
	report := &expect.Report{Against: o.against, Lines: []expect.LineReport{}}
	for _, request := range requests {
		times := 1
		if len(request.Backends) > 1 && !request.Connection() {
			times = sendTimes
		}
		var all []expect.Seen
		for range times {
			all = append(all, client.Send(ctx, request))
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		report.Add(observer.Compare(request, all).Report())
	}
	return report, nil
}
