// Package mtls authenticates the clients that speak xDS with gatefold. It keeps the server's certificate and
// the clients' CA certificates up to date with their files. It reads from a client's certificate which Gateways
// the client may have.
//
// The files are read once a second and compared as a whole. That costs little, because there are three small
// files. It also notices changes that cause no file event: for example, a replaced link on the path (certbot,
// Kubernetes' ..data), or a change in a bind mount.
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

	"github.com/gatefold/gatefold/store/keypair"
)

// Files are the paths of the PEM files with which gatefold authenticates itself and its clients. The paths may
// be links.
type Files struct {
	Cert     string // the server's certificate, then intermediate certificates
	Key      string // the private key of Cert
	ClientCA string // the CA certificates that sign clients' certificates
}

// Any reports whether at least one path is set.
func (f Files) Any() bool { return f != Files{} }

// State describes the files at the last reading.
type State struct {
	// NotAfter is when the certificate in use expires.
	NotAfter time.Time
	// Problem is the reason why the present content of the files is not used. It is "" if the content is used.
	Problem string
	// Changed is when new content of the files was last used or rejected.
	Changed time.Time
}

// Keeper provides TLS configurations with the last valid content of the PEM files (Files). It is safe for
// concurrent use, but only one goroutine may call Watch.
type Keeper struct {
	files  Files
	seen   sum // hash of the content at the last reading
	judged sum // hash of the content that was last loaded or rejected

	mu     sync.Mutex
	config *tls.Config
	state  State
}

// sum is a hash of the content of all files.
type sum [sha256.Size]byte

// Load reads the files and returns a Keeper for them. The error names the file that cannot be used.
func Load(files Files) (*Keeper, error) {
	k := &Keeper{files: files}
	found := files.read()
	if _, err := k.judge(found); err != nil {
		return nil, err
	}
	k.seen = found.sum()
	return k, nil
}

// Config returns the TLS configuration of the server. A client must present a certificate that one of the CA
// certificates signed. After a change of the files, new handshakes use the new content. Open connections do not
// change.
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

// State returns the state of the files at the last reading.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Watch reads the files every interval until ctx ends. After each change of their content, it calls the function
// changed: with nil if the new content is used, or with the reason why it is not used. New content is checked
// only when two readings in a row are equal. Otherwise, a new certificate could be used with the old key, or a
// bundle of CA certificates that is not yet complete.
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

// look reads the files once. If the content differs from the previous reading, a program may still be writing
// the files, and look does nothing more. If the content is the same, look calls judge with it and returns the
// results of judge. The result changed is false if there is nothing new to report. The error is the reason why new
// content is not used.
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

// judge checks the content of the files, unless it is the content that judge checked last; then changed is false.
// If the content is valid, new connections use it. Otherwise the previous configuration stays in use, and judge
// returns the reason as an error.
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

// content is the content of the files, or the error why a file cannot be read.
type content struct {
	cert, key, clientCA []byte
	err                 error
}

// maxFile limits the size of each file, in bytes.
const maxFile = 1 << 20

// read returns the content of all files. If a file cannot be read, the field err of the result has the first
// error.
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

// readFile returns the content of a regular file. It returns an error for other files, because reading a pipe
// could block forever. A file that is larger than maxFile is an error too.
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

// sum returns a hash of the content, or of its error.
func (c content) sum() sum {
	hash := sha256.New()
	for _, part := range [][]byte{c.cert, c.key, c.clientCA, fmt.Append(nil, c.err)} {
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write(part)
	}
	return sum(hash.Sum(nil))
}

// parse returns the TLS configuration for new connections, and when the server's certificate expires. The error
// never contains a part of a key.
func (f Files) parse(c content) (*tls.Config, time.Time, error) {
	if c.err != nil {
		return nil, time.Time{}, c.err
	}
	pair, err := keypair.TLSCertificate(c.cert, c.key)
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
		// A resumed session would use the client's old certificate.
		SessionTicketsDisabled: true,
	}, pair.Leaf.NotAfter, nil
}

// authorities returns a pool of all certificates in a PEM bundle. It returns an error if the bundle is empty or
// cut off, or if a block is not a certificate. If such a block were skipped, this would be noticed only when
// clients cannot connect.
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
		certificate, err := keypair.ParseCertificate(block.Bytes)
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
