package pods

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mounts are the mounted files of a container: the data of the Secrets and ConfigMaps that its volumes name.
type mounts struct {
	object    *corev1.Pod
	container corev1.Container
	sources   Sources
}

// read returns the current content of a mounted file. It returns an error if no volume is mounted there, and
// otherwise the error of fromVolume.
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

// fromVolume returns the content of a file in a volume. file is the path inside of the volume. fromVolume returns an
// error if the file does not exist, or if the volume is neither a Secret nor a ConfigMap.
func (m mounts) fromVolume(volume corev1.Volume, file string) ([]byte, error) {
	switch {
	case volume.Secret != nil:
		return m.fromObject("Secret", volume.Secret.SecretName, volume.Secret.Items, file)
	case volume.ConfigMap != nil:
		return m.fromObject("ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Items, file)
	}
	return nil, fmt.Errorf("volume %s: only Secrets and ConfigMaps are known", volume.Name)
}

// fromObject returns the content of a file from a Secret or ConfigMap. The file has the value of the key that the
// parameter items maps to the file's name, or else the value of the key with the file's name. fromObject returns an
// error if the object or the key does not exist.
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

// tls returns the TLS configuration of a server. The variable TLS_SERVER_CERT names the certificate file.
// Another variable names the key file. The parameter keyVariable is the name of that variable, which differs
// between programs. tls returns nil if one of the two variables is unset. The protocols are offered by ALPN.
// The files are read again at each handshake. If TLS_CLIENT_CACERTS is set, a client certificate is verified,
// if the client sends one.
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

// pair returns the certificate and key in two mounted files. It returns an error if they are missing or
// invalid.
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

// pool returns the CA certificates in a mounted file. It returns an error if the file is missing or has no
// certificate.
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
