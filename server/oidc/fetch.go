package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// The limits of one request.
const (
	maxDocument = 64 << 10 // bytes
	maxHeaders  = 16 << 10 // bytes
	maxEndpoint = 2048     // bytes of an endpoint's URI, as for the URIs in a GatewayExtension
	maxWords    = 200      // bytes of quoted text in a fault
	// patience is the timeout of a request.
	patience = 10 * time.Second
)

// fault is the reason why an issuer (an OpenID provider) has no usable discovery document. The field hint is what
// to do; it may be "". A failure that repeats has the same texts each time, so that nothing is published again.
type fault struct{ message, hint string }

// Error implements error.
func (f *fault) Error() string { return f.message }

// newClient returns an HTTP client that connects only to public addresses and to addresses in the given
// networks. It uses no proxy, because a proxy would resolve names without this check. It follows no redirect.
// roots are the trusted CA certificates; nil means those of the system.
func newClient(networks []netip.Prefix, roots *x509.CertPool) *http.Client {
	dialer := &net.Dialer{Timeout: patience, Control: func(_, address string, _ syscall.RawConn) error { return admitted(address, networks) }}
	return &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// admitted is called before each connection, with the address ("IP:PORT") to which a name was resolved. It
// returns nil if the client may connect: the IP address is public or in one of the networks. If not, it returns a
// fault. It returns another error if the address cannot be parsed.
func admitted(address string, networks []netip.Prefix) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := parsed.Addr().Unmap().WithZone(""); !public(ip) && !within(networks, ip) {
		return &fault{
			fmt.Sprintf("its address %s is not a public one", ip),
			fmt.Sprintf("start gatefold with --issuer-networks %s/%d, or the network of the address, if it may be asked; or write authorizationEndpoint and tokenEndpoint", ip, ip.BitLen()),
		}
	}
	return nil
}

// document is a discovery document (OpenID Connect Discovery 1.0, section 3).
type document struct {
	Issuer        string `json:"issuer"`
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
	EndSession    string `json:"end_session_endpoint"`
	JWKS          string `json:"jwks_uri"`
}

// fetch requests the discovery document of an issuer and returns its endpoints. It returns a fault if there is
// no usable document.
func fetch(ctx context.Context, client *http.Client, issuer string) (ir.IssuerAnswer, *fault) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ir.DiscoveryURL(issuer), nil)
	if err != nil {
		return ir.IssuerAnswer{}, &fault{"it is no URI", "correct issuerURI"}
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "gatefold")
	response, err := client.Do(request)
	if err != nil {
		return ir.IssuerAnswer{}, faultOf(err)
	}
	defer func() { _ = response.Body.Close() }()
	switch status := response.StatusCode; {
	case status >= 300 && status < 400:
		return ir.IssuerAnswer{}, &fault{fmt.Sprintf("status %d to %s, and redirects are not followed", status, quoted(response.Header.Get("Location"))), "write the issuer as the identity provider names it"}
	case status != http.StatusOK:
		return ir.IssuerAnswer{}, &fault{fmt.Sprintf("status %d", status), ""}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return ir.IssuerAnswer{}, faultOf(err)
	}
	return read(body, issuer)
}

// read returns the endpoints of the discovery document body. It returns a fault if the document is invalid, too
// large or of another issuer.
func read(body []byte, issuer string) (ir.IssuerAnswer, *fault) {
	var from document
	if len(body) > maxDocument {
		return ir.IssuerAnswer{}, &fault{fmt.Sprintf("a document of more than %d bytes", maxDocument), ""}
	}
	if err := json.Unmarshal(body, &from); err != nil {
		return ir.IssuerAnswer{}, &fault{"a document that is no JSON of a discovery document", ""}
	}
	if from.Issuer != issuer {
		return ir.IssuerAnswer{}, &fault{fmt.Sprintf("a document of the issuer %s", quoted(from.Issuer)), "write that as issuerURI, if it is the identity provider's"}
	}
	answer := ir.IssuerAnswer{Authorization: from.Authorization, Token: from.Token, EndSession: from.EndSession, JWKS: from.JWKS}
	return answer, check(answer)
}

// endpoints is the regular expression for a URI that an extension may have as an endpoint (api.HTTPSURI).
const endpoints = `^https://([a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-zA-Z0-9\-._~!$&'()*+,;=:@%]*)*/?(\?[a-zA-Z0-9\-._~!$&'()*+,;=:@%/?]*)?$`

// check returns a fault for the first endpoint that is not a valid https URI. A missing authorization or token
// endpoint is a fault, too. If there is no fault, check returns nil.
func check(answer ir.IssuerAnswer) *fault {
	https := regexp.MustCompile(endpoints)
	for _, one := range []struct {
		name, value string
		needed      bool
	}{
		{"authorization_endpoint", answer.Authorization, true},
		{"token_endpoint", answer.Token, true},
		{"end_session_endpoint", answer.EndSession, false},
		{"jwks_uri", answer.JWKS, false},
	} {
		switch {
		case one.value == "" && one.needed:
			return &fault{"a document without " + one.name, ""}
		case one.value != "" && (len(one.value) > maxEndpoint || !https.MatchString(one.value)):
			return &fault{fmt.Sprintf("a document whose %s is %s, which is no https URI of at most %d plain characters", one.name, quoted(one.value), maxEndpoint), ""}
		}
	}
	return nil
}

// quoted returns the first maxWords bytes of a text, in quotes and with special characters escaped. It is used
// for texts from outside, such as those that an issuer sent.
func quoted(text string) string { return strconv.Quote(text[:min(len(text), maxWords)]) }

// faultOf converts the error of a request to a fault. It leaves out details that differ between requests, such
// as ports and times, so that a repeated failure has the same text.
func faultOf(err error) *fault {
	var own *fault
	var name *net.DNSError
	var certificate x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var timeout interface{ Timeout() bool }
	var number syscall.Errno
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &name) && name.IsNotFound:
		return &fault{fmt.Sprintf("the name %s does not exist", quoted(name.Name)), ""}
	case errors.As(err, &name):
		return &fault{fmt.Sprintf("the name %s cannot be resolved", quoted(name.Name)), ""}
	case errors.As(err, &certificate) && certificate.Reason == x509.Expired:
		return &fault{"a certificate that has expired or is not valid yet", ""}
	case errors.As(err, &unknown):
		return &fault{"a certificate of an authority that gatefold does not trust", "start gatefold with the environment variable SSL_CERT_FILE naming a file with the CA certificates to trust"}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &fault{fmt.Sprintf("none within %s", patience), ""}
	case errors.As(err, &number):
		return &fault{number.Error(), ""}
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	text := err.Error()
	return &fault{text[:min(len(text), maxWords)], ""}
}
