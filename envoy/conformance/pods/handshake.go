package pods

import (
	"crypto/tls"
	"encoding/pem"
	"strings"
)

// handshake describes the TLS handshake of a connection from the backend's side.
type handshake struct {
	Version            string   `json:"version"` // such as TLSv1.3
	PeerCertificates   []string `json:"peerCertificates,omitempty"`
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
}

// newHandshake returns a description of a TLS connection. It returns nil if state is nil, which means a
// connection without TLS.
func newHandshake(state *tls.ConnectionState) *handshake {
	if state == nil {
		return nil
	}
	out := &handshake{
		Version:            strings.Replace(tls.VersionName(state.Version), "TLS ", "TLSv", 1),
		ServerName:         state.ServerName,
		NegotiatedProtocol: state.NegotiatedProtocol,
		CipherSuite:        tls.CipherSuiteName(state.CipherSuite),
	}
	for _, certificate := range state.PeerCertificates {
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
		out.PeerCertificates = append(out.PeerCertificates, string(block))
	}
	return out
}
