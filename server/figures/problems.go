package figures

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

const (
	// maxNamespaces is how many namespaces gatefold_problems names. Each namespace is a series in Prometheus, and
	// every author of the folder can invent namespaces.
	maxNamespaces = 50
	// otherNamespaces is the label for all other namespaces, and for invalid ones. No namespace can have this
	// name.
	otherNamespaces = "_other"
)

// problemLabels are the labels of gatefold_problems.
type problemLabels struct {
	severity        manifest.Severity
	code, namespace string
}

// CountProblems sets gatefold_problems to the numbers of the given problems. It sets gatefold_xds_quarantined to
// the number of problems with the code xds.RejectedCode. If there are no problems, each severity still has a
// series with the value 0, so that alerts have a value.
func (m *Set) CountProblems(problems []manifest.Problem) {
	count := map[problemLabels]int{{manifest.Error, "", ""}: 0, {manifest.Warning, "", ""}: 0}
	named, rejected := namespacesOf(problems), 0
	for _, p := range problems {
		namespace := p.Object.Namespace
		if namespace != "" && !named[namespace] {
			namespace = otherNamespaces
		}
		count[problemLabels{p.Severity, p.Code, namespace}]++
		if p.Code == xds.RejectedCode {
			rejected++
		}
	}
	m.quarantine.Set(float64(rejected))
	m.problems.Reset()
	for labels, n := range count {
		m.problems.WithLabelValues(string(labels.severity), labels.code, labels.namespace).Set(float64(n))
	}
}

// namespacesOf returns the namespaces that the metric names: the maxNamespaces with the most problems. All others
// share one label value (otherNamespaces), and so do invalid names.
func namespacesOf(problems []manifest.Problem) map[string]bool {
	count := map[string]int{}
	for _, p := range problems {
		if namespace := p.Object.Namespace; count[namespace] > 0 || len(validation.IsDNS1123Label(namespace)) == 0 {
			count[namespace]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	named := map[string]bool{}
	for _, namespace := range most[:min(len(most), maxNamespaces)] {
		named[namespace] = true
	}
	return named
}
