package store

import (
	"strings"
	"testing"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/schema"
)

// flawedChecks panic at objects of a name, as a mistake in a check would.
type flawedChecks struct {
	checker
	bad string
}

func (c flawedChecks) Check(gvk apischema.GroupVersionKind, object map[string]any) []schema.Finding {
	if metadata, _ := object["metadata"].(map[string]any); metadata["name"] == c.bad {
		panic("a mistake, with s3cret content")
	}
	return c.checker.Check(gvk, object)
}

// A mistake in reading one object costs that object: it is a problem at its place, and in its
// list and file all others serve. A policy closes its targets, and what served stays.
func TestAMistakeInReadingCostsItsObject(t *testing.T) {
	s := newStore(t, Options{})
	served := "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 80}]}\n---\n"
	s.Apply(treeOf(map[string]string{"a.yaml": served}))
	s.sources.reader.schemas = flawedChecks{s.sources.reader.schemas, "bad"}
	change := s.Apply(treeOf(map[string]string{"a.yaml": strings.Replace(served, "80", "81", 1) +
		"apiVersion: v1\nkind: Service\nmetadata: {name: good}\nspec: {ports: [{port: 80}]}\n---\n" +
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: inlist}, spec: {ports: [{port: 80}]}}\n" +
		"- {apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: bad}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]}}\n"}))
	var names []string
	for _, o := range change.Set {
		names = append(names, o.Key.Name)
	}
	if strings.Join(names, " ") != "good inlist" || len(change.Gone) != 0 || len(change.Stale) != 1 || change.Stale[0].Key.Name != "bad" {
		t.Errorf("set %v, gone %v, stale %+v", names, change.Gone, change.Stale)
	}
	if len(change.Invalid) != 1 || len(change.Invalid[0].Targets) != 1 {
		t.Errorf("the policy closes %+v", change.Invalid)
	}
	told := 0
	for _, p := range change.Problems {
		if p.Code == InternalError {
			told++
			if p.File != "a.yaml" || p.Line == 0 || strings.Contains(p.Message, "s3cret") || !strings.Contains(p.Message, "store/mistake_test.go:") {
				t.Errorf("%+v", p)
			}
		}
	}
	if told != 2 {
		t.Errorf("problems: %+v", change.Problems)
	}
}
