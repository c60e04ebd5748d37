package health

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// endless gives a text over and over.
type endless struct{ rest, text string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A cluster without an end is not read for longer than a large one, be it the first or not.
func TestAClusterIsReadToABound(t *testing.T) {
	for _, begin := range []string{`{"cluster_statuses":[{"name":"`, `{"cluster_statuses":[{"name":"b"},{"name":"`} {
		page := io.MultiReader(strings.NewReader(begin), &endless{text: strings.Repeat("a", 5000)})
		counted := &bounded{page: page, left: 1 << 40, value: 1 << 40}
		if err := new(inventory).read(counted); !errors.Is(err, errTooLarge) {
			t.Errorf("got %v", err)
		}
		if read := 1<<40 - counted.left; read < maxCluster || read > maxCluster+len(begin) {
			t.Errorf("%d bytes were read", read)
		}
	}
}

func TestTheNameOfAnEnvoyIsReadToABound(t *testing.T) {
	page := io.MultiReader(strings.NewReader(`{"node":{"id":"`), &endless{text: strings.Repeat("a", 5000)})
	counted := &bounded{page: page, left: 1 << 40, value: 1 << 40}
	if err := checkNode(counted, "a"); !errors.Is(err, errTooLarge) || 1<<40-counted.left != maxInfo {
		t.Errorf("%d bytes were read: %v", 1<<40-counted.left, err)
	}
}

// A page of any number of clusters, each of a usual size, comes to an end.
func TestAPageIsReadToABound(t *testing.T) {
	one := `{"name":"` + strings.Repeat("a", 10_000) + `"},`
	page := io.MultiReader(strings.NewReader(`{"cluster_statuses":[`), &endless{text: one})
	counted := &bounded{page: page, left: 1 << 40, value: 1 << 40}
	if err := new(inventory).read(counted); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	if read := 1<<40 - counted.left; read != maxPage {
		t.Errorf("%d bytes were read", read)
	}
}

// An endpoint that nobody checks is neither healthy nor unhealthy, whatever Envoy says of it.
func TestWhatNobodyChecksIsNotHealthy(t *testing.T) {
	key := []manifest.Key{{Kind: "Service", Namespace: "shop", Name: "cart"}}
	known := map[string]*ir.Cluster{
		"plain":   {Name: "plain", Objects: key},
		"checked": {Name: "checked", Objects: key, Upstream: &ir.Upstream{HealthCheck: &ir.HealthCheck{}}},
		"watched": {Name: "watched", Objects: key, Upstream: &ir.Upstream{Outliers: &ir.Outliers{}}},
		"tuned":   {Name: "tuned", Objects: key, Upstream: &ir.Upstream{Breakers: &ir.Breakers{}}},
	}
	const host = `{"address":{"socket_address":{"address":"10.0.0.1","port_value":80}},"health_status":{"eds_health_status":"HEALTHY"}}`
	const draining = `{"address":{"socket_address":{"address":"10.0.0.2","port_value":80}},"health_status":{"eds_health_status":"DRAINING"}}`
	var clusters []string
	for name := range known {
		clusters = append(clusters, `{"name":"`+name+`","host_statuses":[`+host+`,`+host+`,`+draining+`]}`)
	}
	found := inventory{known: known, seen: map[string]bool{}}
	if err := found.read(strings.NewReader(`{"cluster_statuses":[` + strings.Join(clusters, ",") + `]}`)); err != nil {
		t.Fatal(err)
	}
	if found.healthy != 4 || found.notChecked != 4 || found.endpoints != 12 {
		t.Errorf("%d healthy, %d not checked of %d, want 4, 4 of 12", found.healthy, found.notChecked, found.endpoints)
	}
	for _, b := range found.backends {
		if checked := b.Cluster == "checked" || b.Cluster == "watched"; (b.Healthy == 2) != checked || (b.NotChecked == 2) == checked || b.Unlisted() != 0 {
			t.Errorf("%+v", b)
		}
	}
}
