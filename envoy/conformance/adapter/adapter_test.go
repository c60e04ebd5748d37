package adapter

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/yaml"
)

// The tests speak to the adapter through the clients that the suite uses.

// crds is where the CRDs are.
var crds = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "experimental"), err
})

// cluster is an adapter and a client.
type cluster struct {
	*testing.T
	client.Client
	*kubernetes.Clientset
	adapter *Adapter
	folder  string
}

func newCluster(t *testing.T, options Options) *cluster {
	t.Helper()
	folder, err := crds()
	if err != nil {
		t.Fatal(err)
	}
	options.CRDs, options.Folder = os.DirFS(folder), t.TempDir()
	c := &cluster{T: t, folder: options.Folder}
	if c.adapter, err = New(options); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.adapter)
	t.Cleanup(server.Close)
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, gwv1.Install, gwv1beta1.Install, apiextensionsv1.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	connection := &rest.Config{
		Host: server.URL, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON},
	}
	if c.Client, err = client.New(connection, client.Options{Scheme: known}); err != nil {
		t.Fatal(err)
	}
	if c.Clientset, err = kubernetes.NewForConfig(connection); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// refused wants an error of a kind.
func (c *cluster) refused(err error, reason metav1.StatusReason) {
	c.Helper()
	if got := apierrors.ReasonForError(err); got != reason {
		c.Errorf("want %s, got %s: %v", reason, got, err)
	}
}

// file reads an object's file, nil when there is none.
func (c *cluster) file(name string) map[string]any {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	c.must(err)
	var content map[string]any
	c.must(yaml.Unmarshal(text, &content))
	return content
}

func gateway(name string, port int) *gwv1.Gateway {
	return &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: "gatefold",
			Listeners:        []gwv1.Listener{{Name: "http", Port: gwv1.PortNumber(port), Protocol: gwv1.HTTPProtocolType}},
		},
	}
}

const gatewayFile = "gateway_gateway.networking.k8s.io_default_eg.yaml"

func TestObjectsAreFiles(t *testing.T) {
	c := newCluster(t, Options{})
	eg := gateway("eg", 80)
	c.must(c.Create(context.Background(), eg))
	content := c.file(gatewayFile)
	metadata, _ := content["metadata"].(map[string]any)
	if metadata["uid"] != string(eg.UID) || metadata["generation"] != 1.0 || metadata["creationTimestamp"] == nil || metadata["resourceVersion"] != nil {
		t.Errorf("metadata of the file: %v", metadata)
	}
	if content["status"] != nil {
		t.Error("the file has a status")
	}
	listener := content["spec"].(map[string]any)["listeners"].([]any)[0].(map[string]any)
	if listener["allowedRoutes"] != nil {
		t.Error("the file has defaults: gatefold's own would not be tested")
	}
	c.must(c.Get(context.Background(), client.ObjectKeyFromObject(eg), eg))
	if from := eg.Spec.Listeners[0].AllowedRoutes; from == nil || *from.Namespaces.From != gwv1.NamespacesFromSame {
		t.Errorf("what is read lacks defaults: %+v", eg.Spec.Listeners[0])
	}
	c.must(c.Delete(context.Background(), eg))
	if c.file(gatewayFile) != nil {
		t.Error("the file outlived its object")
	}
	c.refused(c.Get(context.Background(), client.ObjectKeyFromObject(eg), eg), metav1.StatusReasonNotFound)
	c.refused(c.Delete(context.Background(), eg), metav1.StatusReasonNotFound)
}

// The generation counts changes of what the object asks for, and the version
// every change.
func TestGenerations(t *testing.T) {
	c := newCluster(t, Options{})
	eg := gateway("eg", 80)
	c.must(c.Create(context.Background(), eg))
	steps := []struct {
		name   string
		change func(*gwv1.Gateway)
		want   int64
	}{
		{"a label", func(g *gwv1.Gateway) { g.Labels = map[string]string{"a": "b"} }, 1},
		{"a status", func(g *gwv1.Gateway) {
			g.Status.Addresses = []gwv1.GatewayStatusAddress{{Value: "192.0.2.7"}}
		}, 1},
		{"a default, written", func(g *gwv1.Gateway) {
			from := gwv1.NamespacesFromSame
			g.Spec.Listeners[0].AllowedRoutes = &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: &from}}
		}, 1},
		{"a port", func(g *gwv1.Gateway) { g.Spec.Listeners[0].Port = 81 }, 2},
		{"a listener", func(g *gwv1.Gateway) {
			g.Spec.Listeners = append(g.Spec.Listeners, gwv1.Listener{Name: "other", Port: 82, Protocol: gwv1.HTTPProtocolType})
		}, 3},
	}
	for _, patched := range []bool{false, true} {
		for _, step := range steps {
			before := eg.DeepCopy()
			step.change(eg)
			if patched {
				c.must(c.Patch(context.Background(), eg, client.MergeFrom(before)))
			} else {
				c.must(c.Update(context.Background(), eg))
			}
			if eg.Generation != step.want || eg.UID != before.UID || !eg.CreationTimestamp.Equal(&before.CreationTimestamp) {
				t.Errorf("%s: generation %d, want %d; identity %v", step.name, eg.Generation, step.want, eg.UID)
			}
			if eg.ResourceVersion == before.ResourceVersion {
				t.Errorf("%s: the version is still %s", step.name, eg.ResourceVersion)
			}
		}
		c.must(c.Delete(context.Background(), eg))
		eg = gateway("eg", 80)
		c.must(c.Create(context.Background(), eg))
	}
}

func TestConflicts(t *testing.T) {
	c := newCluster(t, Options{})
	eg := gateway("eg", 80)
	c.must(c.Create(context.Background(), eg))
	c.refused(c.Create(context.Background(), gateway("eg", 80)), metav1.StatusReasonAlreadyExists)
	stale := eg.DeepCopy()
	eg.Spec.Listeners[0].Port = 81
	c.must(c.Update(context.Background(), eg))
	stale.Spec.Listeners[0].Port = 82
	c.refused(c.Update(context.Background(), stale), metav1.StatusReasonConflict)
	stale.ResourceVersion = ""
	c.refused(c.Update(context.Background(), stale), metav1.StatusReasonInvalid) // unconditional
	lost := gateway("eg", 80)
	lost.Namespace = "nowhere"
	c.refused(c.Create(context.Background(), lost), metav1.StatusReasonNotFound)
	c.refused(c.Update(context.Background(), gateway("other", 80)), metav1.StatusReasonNotFound)
	again := gateway("eg", 80)
	c.must(c.Delete(context.Background(), stale))
	c.must(c.Create(context.Background(), again))
	if again.UID == eg.UID || again.Generation != 1 {
		t.Errorf("a new object has uid %s and generation %d", again.UID, again.Generation)
	}
	stale.ResourceVersion = ""
	c.refused(c.Update(context.Background(), stale), metav1.StatusReasonConflict)
}

func TestSchema(t *testing.T) {
	c := newCluster(t, Options{})
	for _, row := range []struct {
		name string
		bad  func(*gwv1.Gateway)
		says string
	}{
		{"structure", func(g *gwv1.Gateway) { g.Spec.Listeners[0].Port = 0 }, "spec.listeners[0].port"},
		{"CEL", func(g *gwv1.Gateway) {
			g.Spec.Listeners = append(g.Spec.Listeners, gwv1.Listener{Name: "twin", Port: 80, Protocol: gwv1.HTTPProtocolType})
		}, "Combination of port, protocol and hostname must be unique"},
		{"list map", func(g *gwv1.Gateway) {
			g.Spec.Listeners = append(g.Spec.Listeners, gwv1.Listener{Name: "http", Port: 81, Protocol: gwv1.HTTPProtocolType})
		}, "Duplicate value"},
		{"both", func(g *gwv1.Gateway) {
			hostname := gwv1.Hostname("a_b")
			g.Spec.Listeners = []gwv1.Listener{
				{Name: "a", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: &hostname},
				{Name: "b", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: &hostname},
			}
		}, "Combination of port, protocol and hostname must be unique"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bad := gateway("bad", 80)
			row.bad(bad)
			err := c.Create(context.Background(), bad)
			c.refused(err, metav1.StatusReasonInvalid)
			if err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("want %q in %v", row.says, err)
			}
		})
	}
	if c.file("gateway_gateway.networking.k8s.io_default_bad.yaml") != nil {
		t.Error("a refused object has a file")
	}
	eg := gateway("eg", 80)
	c.must(c.Create(context.Background(), eg))
	eg.Spec.Listeners[0].Protocol = gwv1.TCPProtocolType
	hostname := gwv1.Hostname("a.example.com")
	eg.Spec.Listeners[0].Hostname = &hostname
	c.refused(c.Update(context.Background(), eg), metav1.StatusReasonInvalid)
}

func TestVersionsAreOfOneObject(t *testing.T) {
	c := newCluster(t, Options{})
	eg := gateway("eg", 80)
	c.must(c.Create(context.Background(), eg))
	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(schema.GroupVersionKind{Group: gwv1.GroupName, Version: "v1beta1", Kind: "Gateway"})
	c.must(c.Get(context.Background(), client.ObjectKeyFromObject(eg), old))
	if old.GetUID() != eg.UID || old.GetAPIVersion() != "gateway.networking.k8s.io/v1beta1" {
		t.Errorf("%s %s", old.GetAPIVersion(), old.GetUID())
	}
	before := old.DeepCopy()
	old.SetLabels(map[string]string{"a": "b"})
	c.must(c.Patch(context.Background(), old, client.MergeFrom(before)))
	if old.GetGeneration() != 1 {
		t.Errorf("another version is no change, but the generation is %d", old.GetGeneration())
	}
}

func TestSelectors(t *testing.T) {
	c := newCluster(t, Options{})
	c.must(c.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}))
	for _, m := range []metav1.ObjectMeta{
		{Namespace: "default", Name: "a", Labels: map[string]string{"team": "x", "tier": "1"}},
		{Namespace: "default", Name: "b", Labels: map[string]string{"team": "y"}},
		{Namespace: "other", Name: "c", Labels: map[string]string{"team": "x"}},
	} {
		c.must(c.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: m}))
	}
	for selector, want := range map[string]string{"": "a b c", "team=x": "a c", "team in (y),!tier": "b", "team=x,tier": "a", "team=z": ""} {
		found, err := c.CoreV1().ConfigMaps("").List(context.Background(), metav1.ListOptions{LabelSelector: selector})
		c.must(err)
		if got := names(found.Items); got != want {
			t.Errorf("%q: got %q, want %q", selector, got, want)
		}
	}
	found, err := c.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	c.must(err)
	if got := names(found.Items); got != "a b" {
		t.Errorf("of default: %q", got)
	}
	_, err = c.CoreV1().ConfigMaps("").List(context.Background(), metav1.ListOptions{FieldSelector: "metadata.name=a"})
	c.refused(err, metav1.StatusReasonBadRequest)
}

func names(all []corev1.ConfigMap) string {
	var found []string
	for _, m := range all {
		found = append(found, m.Name)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func TestANamespaceTakesItsObjectsWithIt(t *testing.T) {
	var gone []string
	c := newCluster(t, Options{Changed: func(e Event) error {
		if e.Object == nil {
			gone = append(gone, e.Kind+" "+e.Name)
		}
		return nil
	}})
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.must(c.Create(context.Background(), space))
	for _, object := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}, StringData: map[string]string{"a": "b"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stays"}},
	} {
		c.must(c.Create(context.Background(), object))
	}
	if data, ok := c.adapter.Secret("shop", "cart"); !ok || string(data["a"]) != "b" {
		t.Errorf("the Secret holds %q", data)
	}
	c.must(c.Delete(context.Background(), space))
	if slices.Sort(gone); !slices.Equal(gone, []string{"Deployment cart", "Service cart"}) {
		t.Errorf("gone: %q", gone)
	}
	files, err := filepath.Glob(filepath.Join(c.folder, "*"))
	c.must(err)
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	if !slices.Equal(files, []string{"configmap_default_stays.yaml", "namespace_default.yaml"}) {
		t.Errorf("files: %q", files)
	}
}

// The status is gatefold's: what it does not say yet is what the CRD says of a
// new object, and what no API server would take is an error.
func TestStatus(t *testing.T) {
	var status map[string]any
	c := newCluster(t, Options{Status: func(kind schema.GroupKind, namespace, name string) (map[string]any, error) {
		if kind.Kind != "Gateway" || namespace != "default" || name != "eg" {
			t.Errorf("status of %s %s/%s", kind, namespace, name)
		}
		return status, nil
	}})
	eg := gateway("eg", 80)
	c.must(c.Create(context.Background(), eg))
	if len(eg.Status.Conditions) != 2 || eg.Status.Conditions[0].Status != metav1.ConditionUnknown {
		t.Errorf("of a new Gateway: %+v", eg.Status.Conditions)
	}
	condition := map[string]any{
		"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "observedGeneration": int64(1), "lastTransitionTime": "2026-01-02T03:04:05Z",
	}
	status = map[string]any{"conditions": []any{condition}}
	c.must(c.Get(context.Background(), client.ObjectKeyFromObject(eg), eg))
	if len(eg.Status.Conditions) != 1 || eg.Status.Conditions[0].Reason != "Accepted" {
		t.Errorf("published: %+v", eg.Status.Conditions)
	}
	condition["reason"] = "no spaces"
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(eg), eg); err == nil || !strings.Contains(err.Error(), "status.conditions[0].reason") {
		t.Errorf("a status against its schema: %v", err)
	}
}

// The status of an object that was deleted is not that of the next one of its
// name, however long it takes to go.
func TestTheStatusOfADeletedObjectIsNobodys(t *testing.T) {
	var mu sync.Mutex
	asked, known := 0, true
	c := newCluster(t, Options{Status: func(schema.GroupKind, string, string) (map[string]any, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		known = known && asked < 5
		if !known {
			return nil, nil
		}
		return map[string]any{"addresses": []any{map[string]any{"value": "192.0.2.7"}}}, nil
	}})
	c.must(c.Create(context.Background(), gateway("eg", 80)))
	c.must(c.Delete(context.Background(), gateway("eg", 80)))
	again := gateway("eg", 80)
	c.must(c.Create(context.Background(), again))
	if len(again.Status.Addresses) > 0 || asked < 5 {
		t.Errorf("after %d questions: %+v", asked, again.Status.Addresses)
	}
}

func TestCRDsAreOfOneRelease(t *testing.T) {
	c := newCluster(t, Options{})
	found := &apiextensionsv1.CustomResourceDefinitionList{}
	c.must(c.List(context.Background(), found))
	if len(found.Items) < 10 {
		t.Fatalf("%d CRDs", len(found.Items))
	}
	for _, crd := range found.Items {
		if v, channel := crd.Annotations["gateway.networking.k8s.io/bundle-version"], crd.Annotations["gateway.networking.k8s.io/channel"]; v != "v1.6.3" || channel != "experimental" {
			t.Errorf("%s is of %s, %s", crd.Name, v, channel)
		}
	}
}

func TestEndpointSlices(t *testing.T) {
	c := newCluster(t, Options{})
	slice := func(name, address string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: name},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		}
	}
	own := slice("own", "127.0.2.9")
	c.must(c.Create(context.Background(), own))
	c.must(c.adapter.SetEndpointSlices([]*discoveryv1.EndpointSlice{slice("a", "127.0.2.1"), slice("b", "127.0.2.2")}))
	c.must(c.adapter.SetEndpointSlices([]*discoveryv1.EndpointSlice{slice("a", "127.0.2.3")}))
	found, err := c.DiscoveryV1().EndpointSlices("default").List(context.Background(), metav1.ListOptions{})
	c.must(err)
	got := map[string]string{}
	for _, s := range found.Items {
		got[s.Name] = s.Endpoints[0].Addresses[0]
	}
	if len(got) != 2 || got["a"] != "127.0.2.3" || got["own"] != "127.0.2.9" {
		t.Errorf("%v", got)
	}
	if c.file("endpointslice_default_b.yaml") != nil || c.file("endpointslice_default_a.yaml") == nil {
		t.Error("the files are not those of the objects")
	}
}

func TestPodsAndLogs(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cart-1", Labels: map[string]string{"app": "cart"}}}
	var asked time.Duration
	c := newCluster(t, Options{
		Pods: func(namespace string) []*corev1.Pod {
			if namespace != "" && namespace != pod.Namespace {
				return nil
			}
			return []*corev1.Pod{pod}
		},
		Log: func(_, _ string, since time.Duration) []byte { asked = since; return []byte("a line\n") },
	})
	found, err := c.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{LabelSelector: "app=cart"})
	c.must(err)
	if len(found.Items) != 1 || found.Items[0].Name != "cart-1" {
		t.Errorf("%+v", found.Items)
	}
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	log, err := c.CoreV1().Pods("default").GetLogs("cart-1", &corev1.PodLogOptions{SinceTime: &since}).DoRaw(context.Background())
	c.must(err)
	if string(log) != "a line\n" || asked < time.Hour || asked > 2*time.Hour {
		t.Errorf("log %q since %v", log, asked)
	}
	_, err = c.CoreV1().Pods("default").GetLogs("gone", &corev1.PodLogOptions{}).DoRaw(context.Background())
	c.refused(err, metav1.StatusReasonNotFound)
}

// The algorithm of RFC 7386, with the examples of its appendix that JSON objects
// allow.
func TestMergePatch(t *testing.T) {
	for _, row := range [][3]string{
		{`{a: b}`, `{a: c}`, `{a: c}`},
		{`{a: b}`, `{b: c}`, `{a: b, b: c}`},
		{`{a: b}`, `{a: null}`, `{}`},
		{`{a: b, b: c}`, `{a: null}`, `{b: c}`},
		{`{a: [b]}`, `{a: c}`, `{a: c}`},
		{`{a: c}`, `{a: [b]}`, `{a: [b]}`},
		{`{a: {b: c}}`, `{a: {b: d, c: null}}`, `{a: {b: d}}`},
		{`{a: [{b: c}]}`, `{a: [1]}`, `{a: [1]}`},
		{`{a: foo}`, `{a: {b: {c: null}}}`, `{a: {b: {}}}`},
		{`{e: null}`, `{a: 1}`, `{e: null, a: 1}`},
	} {
		var target, patch, want any
		for i, into := range []*any{&target, &patch, &want} {
			if err := yaml.Unmarshal([]byte(row[i]), into); err != nil {
				t.Fatal(err)
			}
		}
		got, err := yaml.Marshal(merge(target, patch))
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(wanted) {
			t.Errorf("%s with %s: got %s, want %s", row[0], row[1], got, wanted)
		}
	}
}
