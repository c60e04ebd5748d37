package conformance

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/consts"
	"sigs.k8s.io/gateway-api/pkg/features"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md and the summary in README.md from the report")

// The generated text stands between these lines.
const (
	tableBegins = "<!-- conformance: from the report, by go test -run TestReadme -update -->\n"
	tableEnds   = "<!-- /conformance -->\n"
)

// reportFolder holds the newest report, as the Gateway API's own repository lays
// reports out: by its version, then channel, version and mode of the
// implementation.
var reportFolder = filepath.Join("reports", consts.BundleVersion)

// TestReadme compares docs/conformance.md and the summary in README.md with the
// recorded report, and the report with the features that a GatewayClass of gatefold
// claims: gatefold claims nothing that was not tested.
func TestReadme(t *testing.T) {
	path, report := readReport(t)
	checkPassed(t, report)
	checkClaims(t, report, claims(t))
	compareGenerated(t, "README.md", summary(report))
	compareGenerated(t, "docs/conformance.md", table("../"+filepath.ToSlash(filepath.Join("envoy", "conformance", path)), report))
}

// compareGenerated fails if the generated part of a document is not want; with
// -update, it writes want there.
func compareGenerated(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := bytes.Cut(text, []byte(tableBegins))
	got, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		t.Fatalf("%s lacks the line %q or %q", name, tableBegins, tableEnds)
	}
	if string(got) == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the report; run go test -run TestReadme -update. It should be:\n%s", name, want)
	}
	fresh := slices.Concat(before, []byte(tableBegins+want+tableEnds), after)
	if err := os.WriteFile(file, fresh, 0o644); err != nil {
		t.Fatal(err)
	}
}

// summary is the report in one paragraph.
func summary(report confv1.ConformanceReport) string {
	var core, extended uint32
	for _, p := range report.ProfileReports {
		core += p.Core.Statistics.Passed
		if p.Extended != nil {
			extended += p.Extended.Statistics.Passed
		}
	}
	return fmt.Sprintf("gatefold passes all %d core and %d extended tests of the Gateway API's conformance suite %s,\n"+
		"profiles HTTP, GRPC, TLS, TCP and UDP, against a real Envoy: [table and report](docs/conformance.md).\n",
		core, extended, report.GatewayAPIVersion)
}

// readReport gives the one report there is, and its path.
func readReport(t *testing.T) (string, confv1.ConformanceReport) {
	t.Helper()
	var report confv1.ConformanceReport
	files, err := filepath.Glob(filepath.Join(reportFolder, "*.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s holds %d reports; run make conformance", reportFolder, len(files))
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &report); err != nil {
		t.Fatal(err)
	}
	if want := reportName(report.GatewayAPIChannel, report.Version, report.Mode); filepath.Base(files[0]) != want {
		t.Errorf("the report %s should be called %s", files[0], want)
	}
	return files[0], report
}

func reportName(channel, version, mode string) string {
	return fmt.Sprintf("%s-%s-%s-report.yaml", channel, version, mode)
}

// claims asks the binary what it says to support, by the status of a GatewayClass.
func claims(t *testing.T) map[string]bool {
	t.Helper()
	class := "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: gatefold}, spec: {controllerName: gatefold.io/gateway-controller}}"
	s := &stand{t: t, folder: shortFolder(t), binary: buildGatefold(t)}
	if err := errors.Join(os.Mkdir(s.config(), 0o700), os.WriteFile(filepath.Join(s.config(), "class.yaml"), []byte(class), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.startGatefold()
	content, err := s.status(schema.GroupKind{Group: gwv1.GroupName, Kind: "GatewayClass"}, "", "gatefold")
	if err != nil {
		t.Fatal(err)
	}
	claimed := map[string]bool{}
	named, _ := content["supportedFeatures"].([]any)
	for _, feature := range named {
		name, _ := feature.(map[string]any)["name"].(string)
		claimed[name] = true
	}
	if len(claimed) == 0 {
		t.Fatal("gatefold claims nothing")
	}
	return claimed
}

// checkPassed wants a report without a test that failed or was skipped.
func checkPassed(t *testing.T, report confv1.ConformanceReport) {
	t.Helper()
	for _, profile := range report.ProfileReports {
		levels := []confv1.Status{profile.Core}
		if profile.Extended != nil {
			levels = append(levels, profile.Extended.Status)
		}
		for _, level := range levels {
			if level.Result != confv1.Success || level.Passed == 0 {
				t.Errorf("%s: the report says %s: %s", profile.Name, level.Result, passed(level))
			}
		}
	}
}

// checkClaims wants the features that were tested to be those that are claimed.
func checkClaims(t *testing.T, report confv1.ConformanceReport, claimed map[string]bool) {
	t.Helper()
	tested := map[string]bool{}
	for feature := range unlisted(t) {
		tested[string(feature)] = true
	}
	for _, profile := range report.ProfileReports {
		if profile.Extended == nil {
			continue
		}
		for _, feature := range profile.Extended.SupportedFeatures {
			tested[feature] = true
			if !claimed[feature] {
				t.Errorf("%s: the report has %s, which no GatewayClass claims any more", profile.Name, feature)
			}
		}
	}
	for feature := range claimed {
		if !tested[feature] {
			t.Errorf("%s is claimed and was not tested; run make conformance", feature)
		}
	}
}

// unlisted gives the features that reports do not list: those that every
// implementation of a profile must support, and those that tests ask for and no
// profile has.
func unlisted(t *testing.T) suite.FeaturesSet {
	t.Helper()
	all, extended := suite.FeaturesSet{}, suite.FeaturesSet{}
	for _, test := range tests.ConformanceTests {
		all.Insert(test.Features...)
	}
	found := suite.FeaturesSet{}
	for _, profile := range []suite.ConformanceProfile{
		suite.GatewayHTTPConformanceProfile, suite.GatewayGRPCConformanceProfile, suite.GatewayTLSConformanceProfile,
		suite.GatewayTCPConformanceProfile, suite.GatewayUDPConformanceProfile,
	} {
		if !slices.Contains(profiles(), profile.Name) {
			t.Fatalf("profile %s is not run", profile.Name)
		}
		found = found.Union(profile.CoreFeatures)
		extended = extended.Union(profile.ExtendedFeatures)
	}
	return found.Union(all.Difference(extended))
}

// table is the report for people. What is not supported is named.
func table(path string, report confv1.ConformanceReport) string {
	var text strings.Builder
	fmt.Fprintf(&text, "[The report](%s) of gatefold %s: Gateway API %s, %s channel, the suite as it is, against a real Envoy.\n\n",
		filepath.ToSlash(path), report.Version, report.GatewayAPIVersion, report.GatewayAPIChannel)
	order := func(p confv1.ProfileReport) int {
		return slices.Index(profiles(), suite.ConformanceProfileName(p.Name))
	}
	slices.SortFunc(report.ProfileReports, func(x, y confv1.ProfileReport) int { return order(x) - order(y) }) // the suite's is any
	text.WriteString("| profile | core tests passed | extended tests passed | extended features | without |\n|---|---|---|---|---|\n")
	for _, p := range report.ProfileReports {
		core := passed(p.Core)
		extended, supported, without := "–", 0, []string{}
		total := 0
		if p.Extended != nil {
			extended = passed(p.Extended.Status)
			supported, without = len(p.Extended.SupportedFeatures), p.Extended.UnsupportedFeatures
			total = supported + len(without)
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %d of %d | %s |\n", p.Name, core, extended, supported, total, strings.Join(without, ", "))
	}
	if names := untested(report); len(names) > 0 {
		fmt.Fprintf(&text, "\nClaimed, though no test of the suite asks for it: %s. gatefold's own cases prove it.\n", strings.Join(names, ", "))
	}
	return text.String()
}

// untested gives the features of a report that no test of the suite asks for.
func untested(report confv1.ConformanceReport) []string {
	asked := suite.FeaturesSet{}
	for _, test := range tests.ConformanceTests {
		asked.Insert(test.Features...)
	}
	var names []string
	for _, profile := range report.ProfileReports {
		if profile.Extended == nil {
			continue
		}
		for _, name := range profile.Extended.SupportedFeatures {
			if !asked.Has(features.FeatureName(name)) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// passed gives the figures of one level, and the names of the tests that failed
// or were skipped.
func passed(level confv1.Status) string {
	s := level.Statistics
	text := fmt.Sprintf("%d of %d", s.Passed, s.Passed+s.Failed+s.Skipped)
	if len(level.FailedTests) > 0 {
		text += "; failed: " + strings.Join(level.FailedTests, ", ")
	}
	if len(level.SkippedTests) > 0 {
		text += "; skipped: " + strings.Join(level.SkippedTests, ", ")
	}
	return text
}

// TestTable holds that the table hides nothing.
func TestTable(t *testing.T) {
	var report confv1.ConformanceReport
	err := yaml.UnmarshalStrict([]byte(`
gatewayAPIVersion: v9.9.9
gatewayAPIChannel: experimental
implementation: {version: v1.0.0}
profiles:
- name: GATEWAY-GRPC
  core: {result: success, statistics: {Passed: 14, Skipped: 0, Failed: 0}}
- name: GATEWAY-HTTP
  core: {result: partial, statistics: {Passed: 34, Skipped: 1, Failed: 1}, skippedTests: [A], failedTests: [B]}
  extended: {result: failure, statistics: {Passed: 1, Skipped: 0, Failed: 2}, failedTests: [C, D], supportedFeatures: [HTTPRouteCORS, w], unsupportedFeatures: [z]}
`), &report)
	if err != nil {
		t.Fatal(err)
	}
	want := "[The report](a/b.yaml) of gatefold v1.0.0: Gateway API v9.9.9, experimental channel, the suite as it is, against a real Envoy.\n\n" +
		"| profile | core tests passed | extended tests passed | extended features | without |\n|---|---|---|---|---|\n" +
		"| GATEWAY-HTTP | 34 of 36; failed: B; skipped: A | 1 of 3; failed: C, D | 2 of 3 | z |\n" +
		"| GATEWAY-GRPC | 14 of 14 | – | 0 of 0 |  |\n" +
		"\nClaimed, though no test of the suite asks for it: w. gatefold's own cases prove it.\n"
	if got := table("a/b.yaml", report); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestEveryProfileIsRun holds that no profile for Gateways is left out.
func TestEveryProfileIsRun(t *testing.T) {
	_, report := readReport(t)
	var got []string
	for _, p := range report.ProfileReports {
		got = append(got, p.Name)
	}
	want := []string{}
	for _, p := range profiles() {
		want = append(want, string(p))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the report has the profiles %q, not %q", got, want)
	}
}

// profiles are those that gatefold conforms to: all but the mesh.
func profiles() []suite.ConformanceProfileName {
	return []suite.ConformanceProfileName{
		suite.GatewayHTTPConformanceProfileName, suite.GatewayGRPCConformanceProfileName, suite.GatewayTLSConformanceProfileName,
		suite.GatewayTCPConformanceProfileName, suite.GatewayUDPConformanceProfileName,
	}
}
