package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	suitefiles "sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// maxWords bounds what is shown of one failed test, in bytes.
const maxWords = 24 << 10

// lastWords holds what gatefold said of objects when they were deleted: a test
// that fails has cleaned up before anybody can ask.
type lastWords struct {
	mu    sync.Mutex
	words map[string]string // by kind, namespace and name
}

func nameOf(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// remember notes the status and the problems of an object that will be deleted.
func (s *stand) remember(object map[string]any) {
	u := unstructured.Unstructured{Object: object}
	words, err := s.words(u)
	if err != nil {
		words = err.Error()
	}
	s.last.mu.Lock()
	defer s.last.mu.Unlock()
	if s.last.words == nil {
		s.last.words = map[string]string{}
	}
	s.last.words[nameOf(u.GetKind(), u.GetNamespace(), u.GetName())] = words
}

// words gives what gatefold says of an object, for people.
func (s *stand) words(u unstructured.Unstructured) (string, error) {
	status, err := json.Marshal(shortened(u.Object["status"]))
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("generation %d, status %s", u.GetGeneration(), status)
	body, err := s.page("/api/v1/problems")
	if err != nil {
		return text, err
	}
	var page struct {
		Problems []struct {
			Code, Severity, Field, Message string
			Object                         struct{ Kind, Namespace, Name string }
		}
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return text, err
	}
	for _, p := range page.Problems {
		if p.Object.Kind == u.GetKind() && p.Object.Namespace == u.GetNamespace() && p.Object.Name == u.GetName() {
			text += fmt.Sprintf("\n\t%s %s: %s: %s", p.Severity, p.Code, p.Field, p.Message)
		}
	}
	return text, nil
}

// shortened leaves the times out of conditions, which say nothing here.
func shortened(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		for _, inner := range v {
			shortened(inner)
		}
	case []any:
		for _, inner := range v {
			shortened(inner)
		}
	}
	return value
}

// explain shows what gatefold said of the objects of a failed test.
func (s *stand) explain(t *testing.T, test suite.ConformanceTest) {
	if !t.Failed() {
		return
	}
	objects, err := objectsOf(test)
	if err != nil {
		t.Log(err)
	}
	var shown strings.Builder
	for _, u := range objects {
		words := s.lastOf(u)
		if words == "" {
			continue
		}
		fmt.Fprintf(&shown, "%s\n\t%s\n", nameOf(u.GetKind(), u.GetNamespace(), u.GetName()), words)
	}
	text := shown.String()
	if len(text) > maxWords {
		text = text[:maxWords] + "…"
	}
	t.Logf("what gatefold said of the objects of %s:\n%s", test.ShortName, text)
}

// lastOf gives what was noted of an object.
func (s *stand) lastOf(u unstructured.Unstructured) string {
	s.last.mu.Lock()
	defer s.last.mu.Unlock()
	return s.last.words[nameOf(u.GetKind(), u.GetNamespace(), u.GetName())]
}

// objectsOf reads the manifests of a test.
func objectsOf(test suite.ConformanceTest) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, path := range test.Manifests {
		text, err := suitefiles.Manifests.ReadFile(path)
		if err != nil {
			return all, err
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			var u unstructured.Unstructured
			err := documents.Decode(&u)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return all, err
			}
			if len(u.Object) > 0 {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// tally counts how tests ended.
type tally struct {
	mu                      sync.Mutex
	passed, failed, skipped []string
}

func (c *tally) count(t *testing.T, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case t.Failed():
		c.failed = append(c.failed, name)
	case t.Skipped():
		c.skipped = append(c.skipped, name)
	default:
		c.passed = append(c.passed, name)
	}
}

func (c *tally) String() string {
	slices.Sort(c.passed)
	slices.Sort(c.failed)
	slices.Sort(c.skipped)
	return fmt.Sprintf("%d passed, %d failed, %d not for us\nfailed:\n\t%s", len(c.passed), len(c.failed), len(c.skipped), strings.Join(c.failed, "\n\t"))
}
