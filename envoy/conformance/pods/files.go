package pods

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mounts are the files that a container sees: those of the Secrets and
// ConfigMaps that its volumes name.
type mounts struct {
	object    *corev1.Pod
	container corev1.Container
	sources   Sources
}

// read gives the present content of a file.
func (m mounts) read(path string) ([]byte, error) {
	for _, mount := range m.container.VolumeMounts {
		file, inside := strings.CutPrefix(path, strings.TrimSuffix(mount.MountPath, "/")+"/")
		if !inside {
			continue
		}
		for _, volume := range m.object.Spec.Volumes {
			if volume.Name == mount.Name {
				return m.fromVolume(volume, file)
			}
		}
	}
	return nil, fmt.Errorf("%s: no volume is mounted there", path)
}

func (m mounts) fromVolume(volume corev1.Volume, file string) ([]byte, error) {
	switch {
	case volume.Secret != nil:
		return m.fromObject("Secret", volume.Secret.SecretName, volume.Secret.Items, file)
	case volume.ConfigMap != nil:
		return m.fromObject("ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Items, file)
	}
	return nil, fmt.Errorf("volume %s: only Secrets and ConfigMaps are known", volume.Name)
}

// fromObject reads a key: the file's name, or what items map to that name.
func (m mounts) fromObject(kind, name string, items []corev1.KeyToPath, file string) ([]byte, error) {
	source := m.sources.Secret
	if kind == "ConfigMap" {
		source = m.sources.ConfigMap
	}
	if source == nil {
		return nil, fmt.Errorf("no source of %ss", kind)
	}
	data, ok := source(m.object.Namespace, name)
	if !ok {
		return nil, fmt.Errorf("%s %s/%s does not exist", kind, m.object.Namespace, name)
	}
	key := file
	for _, item := range items {
		if item.Path == file {
			key = item.Key
		}
	}
	content, ok := data[key]
	if !ok {
		return nil, fmt.Errorf("%s %s/%s has no key %q", kind, m.object.Namespace, name, key)
	}
	return content, nil
}

// tls gives the server's side of TLS with the files that the environment names,
// read anew for each handshake; nil when it names none. The variable of the key
// differs between the programs of echo-basic. protocols are offered by ALPN.
// A certificate of the client is verified if it gives one and
// TLS_CLIENT_CACERTS names a file.
func (c *container) tls(keyVariable string, protocols ...string) *tls.Config {
	certificate, key := c.env["TLS_SERVER_CERT"], c.env[keyVariable]
	if certificate == "" || key == "" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			pair, err := c.files.pair(certificate, key)
			if err != nil {
				return nil, err
			}
			config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{pair}}
			if path := c.env["TLS_CLIENT_CACERTS"]; path != "" {
				config.ClientAuth = tls.VerifyClientCertIfGiven
				config.ClientCAs, err = c.files.pool(path)
			}
			return config, err
		},
	}
}

func (m mounts) pair(certificate, key string) (tls.Certificate, error) {
	certificatePEM, err := m.read(certificate)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := m.read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificatePEM, keyPEM)
}

func (m mounts) pool(path string) (*x509.CertPool, error) {
	content, err := m.read(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}
