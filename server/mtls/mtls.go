// Package mtls proves who speaks xDS with gatefold: it keeps the server's
// certificate and the clients' authorities as their files change, and reads out
// of a client's certificate which Gateways it may have.
//
// The files are read once a second and compared as a whole. That costs less than
// it sounds (three small files), and sees what no event tells of: links that
// are swapped anywhere on the way (certbot, Kubernetes' ..data), bind mounts, a
// file system without events.
package mtls

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Files are the paths of PEM files; links are followed.
type Files struct {
	Cert     string // the server's certificate, then those between it and its authority
	Key      string // its private key
	ClientCA string // the authorities that sign clients' certificates
}

// Any reports whether a file is named.
func (f Files) Any() bool { return f != Files{} }

// State describes the files as they are now.
type State struct {
	// NotAfter is when the certificate in use expires.
	NotAfter time.Time
	// Problem says why the present content of the files is not used; "" if it is.
	Problem string
	// Changed is when the certificate or the problem last changed.
	Changed time.Time
}

// Keeper uses the files' last valid content for connections. Many goroutines may use it; only
// one may call Watch.
type Keeper struct {
	files  Files
	seen   sum // at the last look
	judged sum // loaded or rejected

	mu     sync.Mutex
	config *tls.Config
	state  State
}

type sum [sha256.Size]byte

// Load reads the files. The error names the file that cannot be used.
func Load(files Files) (*Keeper, error) {
	k := &Keeper{files: files}
	found := files.read()
	if _, err := k.judge(found); err != nil {
		return nil, err
	}
	k.seen = found.sum()
	return k, nil
}

// Config returns the TLS configuration of the server. A client must show a certificate that one
// of the CA certificates signed. New handshakes use the new files after a change; open
// connections are not touched.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.config, nil
		},
	}
}

// State returns the state of the files.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Watch reads the files every interval until ctx ends. After each change it calls changed with
// what is wrong, or nil if the new content is used. A change counts only when two readings
// agree: certificate and key are written one after the other, and half a bundle of CA
// certificates is valid too.
func (k *Keeper) Watch(ctx context.Context, interval time.Duration, changed func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if again, err := k.look(); again {
				changed(err)
			}
		}
	}
}

// look takes over what two looks have seen; changed is false when nothing is new.
func (k *Keeper) look() (changed bool, err error) {
	found := k.files.read()
	now := found.sum()
	settled := now == k.seen
	k.seen = now
	if !settled {
		return false, nil
	}
	return k.judge(found)
}

// judge serves what was found, or keeps what served before and says why.
func (k *Keeper) judge(found content) (changed bool, err error) {
	now := found.sum()
	if now == k.judged {
		return false, nil
	}
	k.judged = now
	config, notAfter, err := k.files.parse(found)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.Changed = time.Now()
	if err != nil {
		k.state.Problem = err.Error()
		return true, err
	}
	k.config, k.state.NotAfter, k.state.Problem = config, notAfter, ""
	return true, nil
}

// content is what the files hold, or why it cannot be read.
type content struct {
	cert, key, clientCA []byte
	err                 error
}

// maxFile bounds each file, in bytes.
const maxFile = 1 << 20

func (f Files) read() content {
	var c content
	if c.cert, c.err = readFile(f.Cert); c.err != nil {
		return c
	}
	if c.key, c.err = readFile(f.Key); c.err != nil {
		return c
	}
	c.clientCA, c.err = readFile(f.ClientCA)
	return c
}

// readFile reads a regular file: a pipe would be waited for without end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return text, err
}

func (c content) sum() sum {
	hash := sha256.New()
	for _, part := range [][]byte{c.cert, c.key, c.clientCA, fmt.Append(nil, c.err)} {
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write(part)
	}
	return sum(hash.Sum(nil))
}

// parse makes the configuration of a connection. No error holds any of a key.
func (f Files) parse(c content) (*tls.Config, time.Time, error) {
	if c.err != nil {
		return nil, time.Time{}, c.err
	}
	pair, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("certificate %s and key %s: %w", f.Cert, f.Key, err)
	}
	pool, err := authorities(c.clientCA)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("client CA certificates %s: %w", f.ClientCA, err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS13,
		// A session that is taken up again shows the client's certificate of then.
		SessionTicketsDisabled: true,
	}, pair.Leaf.NotAfter, nil
}

// authorities reads every certificate of a bundle: one that is skipped would be
// missed only when its clients come.
func authorities(text []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	count := 0
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %s", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		pool.AddCert(certificate)
		count++
	}
	switch {
	case count == 0:
		return nil, errors.New("it holds no certificate in PEM")
	case bytes.Contains(text, []byte("-----BEGIN")):
		return nil, errors.New("its last block is cut off")
	}
	return pool, nil
}
