package envoytest

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gatefold/gatefold/examples/echo/handler"
)

// config returns the configuration of a client that offers only this protocol by ALPN.
func (o *TLS) config(protocol string) *tls.Config {
	config := &tls.Config{
		ServerName: o.ServerName, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS10, MaxVersion: o.MaxVersion,
		InsecureSkipVerify: true, //nolint:gosec // tests check the certificate themselves
	}
	if o.Certificate != nil { // sent even if the server does not list its CA
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return o.Certificate, nil }
	}
	return config
}

// client completes the TLS handshake on c and returns the encrypted connection. It closes c if the handshake
// fails.
func (o *TLS) client(c net.Conn) (*conn, error) {
	secure := tls.Client(c, o.config("http/1.1"))
	err := secure.SetDeadline(time.Now().Add(requestTimeout))
	if err == nil {
		err = secure.Handshake()
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return &conn{Conn: secure, reader: bufio.NewReader(secure), certificate: secure.ConnectionState().PeerCertificates[0]}, nil
}

// overHTTP2 sends the request on a new HTTP/2 connection and returns the response. The error means that there
// is no response, or that the server did not use HTTP/2.
func (r Request) overHTTP2() (*Response, error) {
	transport, scheme := &http.Transport{ForceAttemptHTTP2: true}, "https"
	if r.TLS == nil {
		scheme = "http"
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return r.dialer().DialContext(ctx, network, r.Address)
		}
	}
	defer transport.CloseIdleConnections()
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialer := tls.Dialer{NetDialer: r.dialer(), Config: r.TLS.config("h2")}
		return dialer.DialContext(ctx, network, r.Address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.method(), scheme+"://"+r.Host+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header = r.Headers.Clone()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.ProtoMajor != 2 {
		return nil, fmt.Errorf("%s, status %d, then in the body: %w", response.Proto, response.StatusCode, err)
	}
	out := &Response{Status: response.StatusCode, Headers: response.Header, Body: body, Backend: response.Header.Get(handler.BackendHeader)}
	if response.TLS != nil {
		out.Certificate = response.TLS.PeerCertificates[0]
	}
	return out, nil
}
