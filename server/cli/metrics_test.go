package cli

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameMetricsThatExist holds the documents to what /metrics shows.
func TestDocsNameMetricsThatExist(t *testing.T) {
	var source strings.Builder
	for _, pattern := range []string{"*.go", "../*.go", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				source.WriteString(read(t, name))
			}
		}
	}
	found := 0
	for _, name := range documents(t) {
		for _, metric := range regexp.MustCompile(`\bgatefold_[a-z_]+[a-z]\b`).FindAllString(read(t, name), -1) {
			found++
			if metric = strings.TrimSuffix(metric, "_bucket"); !strings.Contains(source.String(), `"`+metric+`"`) {
				t.Errorf("%s names %s, which no figure is called", name, metric)
			}
		}
	}
	if found == 0 {
		t.Error("no document names a metric")
	}
}

// What the documents raise alarms on is there from the beginning: a rise from
// nothing is none. Those of certificates come with a certificate, those of --envoy
// with it, and that of frozen namespaces with the first one.
func TestAlarmsHaveTheirMetrics(t *testing.T) {
	s := newServed(t, "a")
	s.change = func(o *serveOptions) { o.state.dir, o.status.dir = t.TempDir(), t.TempDir() }
	host, _, _ := net.SplitHostPort(s.address)
	s.serve(host)
	s.waitFor("a", "a")
	_, page, err := (&client{address: s.admin, timeout: patience}).get(t.Context(), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "../../docs/operations.md")
	all := ""
	for _, name := range documents(t) {
		if !strings.Contains(name, "/reference/") {
			all += read(t, name)
		}
	}
	for _, metric := range alarms(all) {
		later := regexp.MustCompile(`^gatefold_(xds_tls_|certificate_|host_|namespace_frozen$)`).MatchString(metric)
		if !later && !strings.Contains(string(page), "\n# TYPE "+metric+" ") {
			t.Errorf("/metrics has no %s", metric)
		}
	}
	_, promises, _ := strings.Cut(text, "\n## Alarms for what gatefold promises\n")
	if found := alarms(promises); len(found) < 10 {
		t.Errorf("what is promised has the alarms %q", found)
	}
}

// alarms returns the metrics that tables name.
func alarms(text string) []string {
	var out []string
	for _, metric := range regexp.MustCompile("(?m)^\\|.*?`((?:gatefold|process)_[a-z_]+)").FindAllStringSubmatch(text, -1) {
		out = append(out, metric[1])
	}
	return out
}

// documents are README.md and the files of docs/.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
