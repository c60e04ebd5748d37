package engine

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/watcher"
)

// manyRoutes returns files of n routes of a namespace, to a backend.
func manyRoutes(n int, namespace, backend string) (files []watcher.File) {
	for i := range n {
		text := []byte(fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%d, namespace: %s}
spec: {parentRefs: [{name: eg, namespace: default}], hostnames: [h%[1]d.%[2]s.test], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[3]s}]}]}
`, i, namespace, backend))
		files = append(files, watcher.File{Path: fmt.Sprintf("%s/%d.yaml", namespace, i), Content: text, Hash: sha256.Sum256(text)})
	}
	return files
}

// servedFile returns what the routes of a namespace need.
func servedFile(namespace string) watcher.File {
	text := []byte(fmt.Sprintf(`{apiVersion: gateway.kgateway.dev/v1alpha1, kind: Backend, metadata: {name: a, namespace: %s}, spec: {static: {hosts: [{host: 127.0.0.1, port: 80}]}}}
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: Backend, metadata: {name: b, namespace: %[1]s}, spec: {static: {hosts: [{host: 127.0.0.1, port: 80}]}}}
`, namespace))
	return watcher.File{Path: namespace + ".yaml", Content: text, Hash: sha256.Sum256(text)}
}

// BenchmarkEditsWithMistakes is a commit of 5,000 edits with mistakes, by the time of the same commit without (ratio), and
// one edit beside 5,000 held edits of another namespace, by the time of the edit without them.
func BenchmarkEditsWithMistakes(b *testing.B) {
	const n = 5000
	gateway := []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg},
  spec: {gatewayClassName: gatefold, listeners: [{name: http, protocol: HTTP, port: 8080, allowedRoutes: {namespaces: {from: All}}}]}}`)
	start := func() (*pipeline, watcher.Tree) {
		folder, err := newReader(b.Context(), Folder{})
		if err != nil {
			b.Fatal(err)
		}
		p := newPipeline(b.Context(), folder, zerolog.Nop())
		p.server = &recorder{}
		tree := watcher.Tree{Root: "folder", Files: watcher.FilesOf(watcher.File{Path: "gateway.yaml", Content: gateway, Hash: sha256.Sum256(gateway)})}
		tree.Files = tree.Files.With(append(manyRoutes(n, "one", "a"), servedFile("one"), servedFile("two")), nil)
		tree.Files = tree.Files.With(manyRoutes(1, "two", "a"), nil)
		p.reload(tree)
		return p, tree
	}
	took := func(p *pipeline, tree *watcher.Tree, files []watcher.File) float64 {
		tree.Files = tree.Files.With(files, nil)
		begin := time.Now()
		p.reload(*tree)
		return time.Since(begin).Seconds()
	}
	var commits, edits [2]float64
	for b.Loop() {
		for i, backend := range []string{"b", "none"} {
			p, tree := start()
			commits[i] += took(p, &tree, manyRoutes(n, "one", backend))
			for range 20 {
				for _, other := range []string{"b", "a"} {
					edits[i] += took(p, &tree, manyRoutes(1, "two", other))
				}
			}
		}
	}
	b.ReportMetric(commits[1]/commits[0], "commit-ratio")
	b.ReportMetric(edits[1]/edits[0], "edit-ratio")
	b.ReportMetric(edits[0]/40/float64(b.N)*1e3, "ms/edit")
}
