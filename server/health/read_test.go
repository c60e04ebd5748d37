package health

import (
	"errors"
	"io"
	"strings"
	"testing"
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
