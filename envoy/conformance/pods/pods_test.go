package pods

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// published keeps what a World handed out last.
type published struct {
	mu    sync.Mutex
	calls int
	list  []*discoveryv1.EndpointSlice
}

func (p *published) take(list []*discoveryv1.EndpointSlice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	p.list = list
}

func newWorld(t *testing.T, sources Sources) (*World, *published) {
	t.Helper()
	out := &published{}
	w, err := New(t.Context(), sources, out.take)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(w.Close)
	return w, out
}

// newDeployment gives an echo-basic Deployment as the suite writes them, with
// environment variables "NAME", "value", …
func newDeployment(name string, env ...string) *appsv1.Deployment {
	c := corev1.Container{Name: name, Image: "registry.k8s.io/gateway-api/echo-basic:v1.5.1"}
	for _, field := range []string{"POD_NAME metadata.name", "NAMESPACE metadata.namespace"} {
		variable, path, _ := bytes.Cut([]byte(field), []byte(" "))
		c.Env = append(c.Env, corev1.EnvVar{Name: string(variable), ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: string(path)},
		}})
	}
	for ; len(env) > 0; env = env[2:] {
		c.Env = append(c.Env, corev1.EnvVar{Name: env[0], Value: env[1]})
	}
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{c}},
			},
		},
	}
}

// mountTLS mounts the Secret "pair" as the suite does, its keys renamed, and the
// ConfigMap "authority" whose keys keep their names.
func mountTLS(d *appsv1.Deployment) *appsv1.Deployment {
	spec := &d.Spec.Template.Spec
	spec.Volumes = []corev1.Volume{
		{Name: "secret-volume", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "pair",
			Items:      []corev1.KeyToPath{{Key: "tls.crt", Path: "crt"}, {Key: "tls.key", Path: "key"}},
		}}},
		{Name: "configmap-volume", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "authority"},
		}}},
	}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{
		{Name: "secret-volume", MountPath: "/etc/secret-volume"},
		{Name: "configmap-volume", MountPath: "/etc/configmap-volume/"},
	}
	return d
}

// deploy runs a Deployment of one pod in a World of its own and gives that pod.
func deploy(t *testing.T, sources Sources, d *appsv1.Deployment) (*World, *corev1.Pod) {
	t.Helper()
	w, _ := newWorld(t, sources)
	if err := w.Deploy(d); err != nil {
		t.Fatal(err)
	}
	pods := w.Pods("")
	if len(pods) != 1 {
		t.Fatalf("%d pods run, not 1", len(pods))
	}
	return w, pods[0]
}

func at(pod *corev1.Pod, port string) string { return net.JoinHostPort(pod.Status.PodIP, port) }

// newPair gives a self-signed certificate and its key, both PEM.
func newPair(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// files are Secrets and ConfigMaps that a test may change as it goes.
type files struct {
	mu                 sync.Mutex
	secrets, configMap map[string]map[string][]byte
}

func (f *files) set(into *map[string]map[string][]byte, name string, data map[string][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *into == nil {
		*into = map[string]map[string][]byte{}
	}
	(*into)["infra/"+name] = data
}

func (f *files) sources() Sources {
	read := func(from *map[string]map[string][]byte) func(namespace, name string) (map[string][]byte, bool) {
		return func(namespace, name string) (map[string][]byte, bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			data, ok := (*from)[namespace+"/"+name]
			return data, ok
		}
	}
	return Sources{Secret: read(&f.secrets), ConfigMap: read(&f.configMap)}
}

// withPair gives files whose Secret "pair" is a new certificate for name.
func withPair(t *testing.T, name string) (f *files, certificate []byte) {
	t.Helper()
	certificate, key := newPair(t, name)
	f = &files{}
	f.set(&f.secrets, "pair", map[string][]byte{"tls.crt": certificate, "tls.key": key})
	return f, certificate
}
