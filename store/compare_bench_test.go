package store

import (
	"fmt"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// BenchmarkSortProblems sorts problems that are nearly in order, as they are when one of so many
// changed.
func BenchmarkSortProblems(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := make([]manifest.Problem, n)
			for i := range all {
				all[i] = manifest.Problem{File: fmt.Sprintf("routes/r%06d.yaml", i), Line: 7, Object: manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Name: fmt.Sprint(i)}, Message: "a message"}
			}
			for i := 0; b.Loop(); i++ {
				all[i%n], all[n/2] = all[n/2], all[i%n]
				manifest.SortProblems(all)
			}
		})
	}
}
