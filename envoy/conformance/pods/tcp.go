package pods

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"sigs.k8s.io/gateway-api/conformance/echo-basic/tcpserver"
)

// serveTCP replaces the image echo-basic in a pod that sets the variable TCP_ECHO_SERVER. It serves TCP without TLS
// (see answerLines). If the environment names a certificate, it also serves TLS on another port.
func serveTCP(c *container) error {
	about := tcpserver.Context{
		Namespace: c.env["NAMESPACE"],
		Ingress:   c.env["INGRESS_NAME"],
		Service:   c.env["SERVICE_NAME"],
		Pod:       c.env["POD_NAME"],
		TCPPort:   c.variable("TCP_PORT", "3000"),
		TLSPort:   c.variable("TLS_PORT", "8443"),
	}
	plain, err := c.listen(about.TCPPort)
	if err != nil {
		return err
	}
	c.serve(func() error { return acceptLines(c, plain, about) })
	secure := c.tls("TLS_SERVER_PRIV_KEY")
	if secure == nil {
		return nil
	}
	encrypted, err := c.listen(about.TLSPort)
	if err != nil {
		return err
	}
	c.serve(func() error { return acceptLines(c, tls.NewListener(encrypted, secure), about) })
	return nil
}

// acceptLines accepts connections and serves each with answerLines. It returns an error when the listener is
// closed.
func acceptLines(c *container, from net.Listener, about tcpserver.Context) error {
	for {
		accepted, err := from.Accept()
		if err != nil {
			return err
		}
		c.serve(func() error {
			if err := answerLines(accepted, about); err != nil && !errors.Is(err, net.ErrClosed) {
				c.log.printf("connection of %s: %v", accepted.RemoteAddr(), err)
			}
			return nil
		})
	}
}

// answerLines sends a welcome message and answers the lines TEST (a description as JSON), IS_TLS and PING. It
// ignores other lines, with which a client can keep the connection open. It returns nil when the client ends
// the connection.
func answerLines(accepted net.Conn, about tcpserver.Context) error {
	defer func() { _ = accepted.Close() }()
	answer := tcpserver.TCPAssertions{Context: about}
	if secure, ok := accepted.(*tls.Conn); ok {
		if err := secure.Handshake(); err != nil {
			return err
		}
		answer.IsTLS, answer.TLSAssertion = true, tcpHandshake(secure.ConnectionState())
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	answers := map[string]string{"TEST": string(body), "IS_TLS": fmt.Sprint(answer.IsTLS), "PING": "PONG"}
	if _, err := io.WriteString(accepted, tcpserver.WelcomeMessage); err != nil {
		return err
	}
	scanner := bufio.NewScanner(accepted)
	for scanner.Scan() {
		text, known := answers[scanner.Text()]
		if !known {
			continue
		}
		if _, err := io.WriteString(accepted, text+"\n"); err != nil {
			return err
		}
	}
	return scanner.Err()
}

// tcpHandshake returns a description of the TLS handshake of a connection.
func tcpHandshake(state tls.ConnectionState) *tcpserver.TLSAssertions {
	return &tcpserver.TLSAssertions{
		Version:            tls.VersionName(state.Version),
		ServerName:         state.ServerName,
		NegotiatedProtocol: state.NegotiatedProtocol,
		Curves:             state.CurveID.String(),
		CipherSuite:        tls.CipherSuiteName(state.CipherSuite),
	}
}
