package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/envoy/conformance/adapter"
	"github.com/gatefold/gatefold/envoy/conformance/pods"
)

const (
	// startLimit is how long a process may take until it answers.
	startLimit = time.Minute
	// stopGrace is how long a process may take to end by itself.
	stopGrace = 10 * time.Second
	// shownLines is how much of a process's log a failed run shows.
	shownLines = 40
)

// stand is all that the suite needs in place of a cluster.
type stand struct {
	t       *testing.T
	folder  string // of sockets, logs and the configuration
	binary  string
	admin   *http.Client // gatefold's admin pages
	adapter *adapter.Adapter
	api     *httptest.Server
	pods    *pods.World
	last    lastWords
}

// newStand starts gatefold, an Envoy, backends and the API in front of them.
// They end with the test.
func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t: t, folder: shortFolder(t), binary: os.Getenv(gatefoldVariable)}
	if err := os.Mkdir(s.config(), 0o700); err != nil {
		t.Fatal(err)
	}
	s.startAPI()
	s.startGatefold()
	s.startEnvoy()
	return s
}

// shortFolder is a folder for unix sockets, whose paths must be short.
func shortFolder(t *testing.T) string {
	folder, err := os.MkdirTemp("", "gfc") //nolint:usetesting // that one's names are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs are in %s", folder)
			return
		}
		_ = os.RemoveAll(folder) // nothing follows from what stays
	})
	return folder
}

func (s *stand) config() string            { return filepath.Join(s.folder, "config") }
func (s *stand) socket(name string) string { return filepath.Join(s.folder, name+".sock") }

func (s *stand) startGatefold() {
	s.admin = &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.socket("admin"))
		}},
	}
	s.start("gatefold", s.binary, "serve", s.config(), "--state-dir", "none", "--address-pool", addressPool,
		"--xds-address", "unix:"+s.socket("xds"), "--admin-address", "unix:"+s.socket("admin"))
	s.await("gatefold", func() error {
		_, err := s.page("/readyz")
		return err
	})
}

func (s *stand) startEnvoy() {
	bootstrap := filepath.Join(s.folder, "envoy.yaml")
	command := exec.Command(s.binary, "bootstrap", "--xds-address", "unix:"+s.socket("xds"), "--node-id", "conformance",
		"--envoy-admin-address", "unix:"+s.socket("envoy"), "--write", bootstrap)
	if out, err := command.CombinedOutput(); err != nil {
		s.t.Fatalf("gatefold bootstrap: %v: %s", err, out)
	}
	s.start("envoy", os.Getenv(envoyVariable), "--config-path", bootstrap, "--concurrency", "1", "--disable-hot-restart")
	s.await("Envoy to connect", func() error {
		body, err := s.page("/api/v1/envoys")
		if err == nil && !bytes.Contains(body, []byte(`"conformance"`)) {
			err = errors.New("no Envoy is connected")
		}
		return err
	})
}

// start starts a process that ends with the test, its output in a file.
func (s *stand) start(name, binary string, args ...string) {
	s.t.Helper()
	path := filepath.Join(s.folder, name+".log")
	log, err := os.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr = log, log
	ended, err := startTied(command)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(stopGrace):
			_ = command.Process.Kill()
			<-ended
		}
		if s.t.Failed() {
			s.t.Logf("the end of %s:\n%s", path, tail(path))
		}
	})
}

// tail gives the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool {
		return strings.HasPrefix(line, `{"`) && strings.Contains(line, `"duration_ms"`) // Envoy's access log
	})
	return strings.Join(lines[max(0, len(lines)-shownLines):], "")
}

func (s *stand) await(what string, condition func() error) {
	s.t.Helper()
	limit := time.Now().Add(startLimit)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			s.t.Fatalf("waited %v for %s: %v", startLimit, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// errNotFound is the answer 404 of an admin page.
var errNotFound = errors.New("not found")

// page gives one of gatefold's admin pages.
func (s *stand) page(path string) ([]byte, error) {
	response, err := s.admin.Get("http://localhost" + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s: %s", path, response.Status, body)
	}
	return body, nil
}

// status asks gatefold for the status of an object.
func (s *stand) status(kind schema.GroupKind, namespace, name string) (map[string]any, error) {
	path := "/api/v1/status/" + kind.Kind + "/"
	if namespace != "" {
		path += namespace + "/"
	}
	body, err := s.page(path + name)
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Status map[string]any `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d objects are called %s %s/%s", len(list.Items), kind, namespace, name)
	}
	return list.Items[0].Status, nil
}

// startAPI starts the API server, on loopback where curl reaches it, and the
// backends.
func (s *stand) startAPI() {
	crds, err := crdFolder()
	if err != nil {
		s.t.Fatal(err)
	}
	options := adapter.Options{
		CRDs: os.DirFS(crds), Folder: s.config(), Status: s.status, Deleting: s.remember, Changed: s.changed,
		Pods: func(namespace string) []*corev1.Pod { return s.pods.Pods(namespace) },
		Log:  func(namespace, pod string, since time.Duration) []byte { return s.pods.Log(namespace, pod, since) },
	}
	if s.adapter, err = adapter.New(options); err != nil {
		s.t.Fatal(err)
	}
	sources := pods.Sources{Secret: s.adapter.Secret, ConfigMap: s.adapter.ConfigMap}
	s.pods, err = pods.New(context.Background(), sources, func(slices []*discoveryv1.EndpointSlice) {
		if err := s.adapter.SetEndpointSlices(slices); err != nil {
			s.t.Error(err)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.pods.Close)
	s.api = httptest.NewServer(s.adapter)
	s.t.Cleanup(s.api.Close)
}

// changed hands Deployments and Services to the backends.
func (s *stand) changed(e adapter.Event) error {
	switch {
	case e.Kind == "Deployment" && e.Object == nil:
		s.pods.Remove(e.Namespace, e.Name)
	case e.Kind == "Deployment":
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object, &deployment); err != nil {
			return err
		}
		return s.pods.Deploy(&deployment)
	case e.Kind == "Service" && e.Object == nil:
		s.pods.RemoveService(e.Namespace, e.Name)
	case e.Kind == "Service":
		var service corev1.Service
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object, &service); err != nil {
			return err
		}
		s.pods.Service(&service)
	}
	return nil
}

// crdFolder is where the module of the Gateway API keeps its CRDs: the
// experimental ones, as the product embeds them.
func crdFolder() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return "", fmt.Errorf("find the CRDs: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "config", "crd", channel), nil
}
