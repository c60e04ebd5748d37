package conformance

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwv1alpha2 "sigs.k8s.io/gateway-api/apis/v1alpha2"
	gwv1alpha3 "sigs.k8s.io/gateway-api/apis/v1alpha3"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	suitefiles "sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

var (
	record  = flag.Bool("record", false, "run with the suite's own timeouts and write the report")
	waits   = flag.Duration("waits", 5*time.Second, "how long the suite waits for anything, without -record")
	extra   = flag.String("features", "", "features to test beside those that gatefold claims, or \"all\"")
	release = flag.String("release", "", "the version of gatefold that the report names (default: what git describes)")
)

const (
	// addressPool is where Gateways get their addresses from.
	addressPool, firstAddress = "127.0.1.0/24", "127.0.1.1"
	// usableAddress is one beside the pool that a Gateway may ask for, and
	// unusableAddress one that no machine has (RFC 5737).
	usableAddress, unusableAddress = "127.0.3.1", "192.0.2.1"
	// channel is that of the CRDs that gatefold embeds.
	channel = "experimental"
	// className is the GatewayClass of the suite's Gateways.
	className      = "gatefold"
	controllerName = "gatefold.io/gateway-controller"
)

// TestConformance runs the conformance suite of the Gateway API, unmodified:
// every test of the five profiles for Gateways, with the features that gatefold
// claims in the status of its GatewayClass.
func TestConformance(t *testing.T) {
	if !inside(t) {
		return
	}
	ctrllog.SetLogger(logr.Discard())
	s := newStand(t)
	options := s.options(t)
	results := &tally{}
	options.Hook = func(t *testing.T, test suite.ConformanceTest, _ *suite.ConformanceTestSuite) {
		if t.Skipped() && !notForUs(test) {
			t.Errorf("%s was skipped, and gatefold is said to pass all but meshes and %s", test.ShortName, features.SupportGatewayInfrastructure)
		}
		results.count(t, test.ShortName)
		s.explain(t, test)
	}
	t.Cleanup(func() { t.Log(results) })
	if *extra != "" {
		s.claim(t, &options)
	}
	if *record {
		options.ReportOutputPath = reportPath(t)
	}
	suitefiles.RunConformanceWithOptions(t, options)
}

// notForUs tells the tests that may be skipped: those of meshes, and those of
// Kubernetes objects that an implementation generates. No other may, whatever
// features are claimed.
func notForUs(test suite.ConformanceTest) bool {
	return slices.Contains(test.Features, features.SupportMesh) || slices.Contains(test.Features, features.SupportGatewayInfrastructure)
}

// options are those of the suite.
func (s *stand) options(t *testing.T) suite.ConformanceOptions {
	t.Helper()
	connection := &rest.Config{
		Host: s.api.URL, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON},
	}
	clientOptions := client.Options{Scheme: kinds(t)}
	c, err := client.New(connection, clientOptions)
	if err != nil {
		t.Fatal(err)
	}
	clientset, err := kubernetes.NewForConfig(connection)
	if err != nil {
		t.Fatal(err)
	}
	s.createClass(t, c)
	return suite.ConformanceOptions{
		Client: c, Clientset: clientset, ClientOptions: clientOptions, RestConfig: connection,
		ManifestFS: []fs.FS{&suitefiles.Manifests},
		ConfigurableOptions: suite.ConfigurableOptions{
			GatewayClassName:     className,
			CleanupBaseResources: true,
			CleanupTestResources: true,
			// Some tests grant what others want rejected, which takes long waits to sort out.
			DisableParallelTests:     !*record,
			TimeoutConfig:            timeouts(),
			Implementation:           implementation(t),
			UsableNetworkAddresses:   address(usableAddress),
			UnusableNetworkAddresses: address(unusableAddress),
			ConformanceProfiles:      profiles(),
		},
	}
}

// kinds is what the suite's clients know.
func kinds(t *testing.T) *runtime.Scheme {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, gwv1.Install, gwv1beta1.Install, gwv1alpha2.Install, gwv1alpha3.Install, xv1alpha1.Install, apiextensionsv1.AddToScheme,
	} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

// createClass creates the GatewayClass and waits for its features: the suite
// reads them once, when it is made.
func (s *stand) createClass(t *testing.T, c client.Client) {
	t.Helper()
	class := &gwv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: className},
		Spec:       gwv1.GatewayClassSpec{ControllerName: controllerName},
	}
	if err := c.Create(context.Background(), class); err != nil {
		t.Fatal(err)
	}
	s.await("the GatewayClass to be accepted", func() error {
		if err := c.Get(context.Background(), client.ObjectKeyFromObject(class), class); err != nil {
			return err
		}
		if len(class.Status.SupportedFeatures) == 0 {
			return errors.New("its status names no features")
		}
		return nil
	})
}

// claim adds the features that -features names to those of the GatewayClass.
// Mesh and generated Kubernetes objects are not gatefold's.
func (s *stand) claim(t *testing.T, options *suite.ConformanceOptions) {
	t.Helper()
	if *record {
		t.Fatal("what is recorded is what gatefold claims: -record and -features exclude each other")
	}
	class := &gwv1.GatewayClass{}
	if err := options.Client.Get(context.Background(), client.ObjectKey{Name: className}, class); err != nil {
		t.Fatal(err)
	}
	for _, feature := range class.Status.SupportedFeatures {
		options.SupportedFeatures = append(options.SupportedFeatures, features.FeatureName(feature.Name))
	}
	for name := range strings.SplitSeq(*extra, ",") {
		if name != "all" {
			options.SupportedFeatures = append(options.SupportedFeatures, features.FeatureName(name))
			continue
		}
		every := features.SetsToNamesSet(features.AllFeatures).
			Difference(features.SetsToNamesSet(features.MeshCoreFeatures, features.MeshExtendedFeatures)).
			Delete(features.SupportGatewayInfrastructure)
		options.SupportedFeatures = append(options.SupportedFeatures, every.UnsortedList()...)
	}
}

func address(value string) []gwv1.GatewaySpecAddress {
	kind := gwv1.IPAddressType
	return []gwv1.GatewaySpecAddress{{Type: &kind, Value: value}}
}

// timeouts are the suite's own for the record. Otherwise a test that fails ends
// soon; the time that one request may take stays.
func timeouts() config.TimeoutConfig {
	all := config.DefaultTimeoutConfig()
	if *record {
		return all
	}
	fields := reflect.ValueOf(&all).Elem()
	for i := range fields.NumField() {
		limit, ok := fields.Field(i).Interface().(time.Duration)
		if ok && limit > *waits {
			fields.Field(i).Set(reflect.ValueOf(*waits))
		}
	}
	usual := config.DefaultTimeoutConfig()
	all.RequestTimeout = usual.RequestTimeout
	all.MaxTimeToConsistency = max(*waits, 5*time.Second) // some want three answers that take a second each
	all.NamespacesMustBeReady = 3 * *waits                // everything at once
	return all
}

// version is the one of the sources around this module.
func version(t *testing.T) string {
	t.Helper()
	if *release != "" {
		return *release
	}
	described, err := describe()
	switch {
	case err == nil:
		return described
	case *record:
		t.Fatalf("git describe: %v; name the version by -release", err)
	}
	return "unknown"
}

// describe asks once: the report of before, which is deleted, must not make the
// tree a dirty one.
var describe = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("git", "-C", root, "describe", "--tags", "--always", "--dirty").Output()
	return strings.TrimSpace(string(out)), err
})

func implementation(t *testing.T) confv1.Implementation {
	t.Helper()
	return confv1.Implementation{
		Organization: "gatefold",
		Project:      "gatefold",
		URL:          "https://github.com/gatefold/gatefold",
		Version:      version(t),
		Contact:      []string{"https://github.com/gatefold/gatefold/issues/new"},
	}
}

// reportPath gives where the report goes, and removes the one of before.
func reportPath(t *testing.T) string {
	t.Helper()
	if pattern := flag.Lookup("test.run").Value.String(); strings.Contains(pattern, "/") {
		t.Fatalf("a report of %s would say little: record all tests", pattern)
	}
	if strings.HasSuffix(version(t), "-dirty") {
		t.Fatal("a report is of a commit: commit first, or name the version by -release")
	}
	old, err := filepath.Glob(filepath.Join(reportFolder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(reportFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(reportFolder, reportName(channel, version(t), "default"))
}
