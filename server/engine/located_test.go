package engine

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// routeFile is a file with a route to a backend.
func routeFile(path, backend string, comment string) watcher.File {
	content := []byte(fmt.Sprintf(`%sapiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec: {parentRefs: [{name: eg}], rules: [{matches: [{path: {value: /%[2]s}}], backendRefs: [{name: %s, port: 80}]}]}
`, comment, path, backend))
	return watcher.File{Path: path + ".yaml", Content: content, Hash: sha256.Sum256(content)}
}

// flawed is a folder of n routes, each with an error in its reference; half of them are
// sound files, the others broken besides.
func flawed(n int) watcher.Tree {
	files := []watcher.File{{Path: "gateway.yaml", Content: []byte(oneGateway), Hash: sha256.Sum256([]byte(oneGateway))}}
	for i := range n {
		f := routeFile(fmt.Sprint("r", i), "nobody", "")
		if i%2 == 1 {
			f.Content = append(f.Content, "---\nkind: HTTPRoute\n"...)
			f.Hash = sha256.Sum256(f.Content)
		}
		files = append(files, f)
	}
	return watcher.Tree{Root: "folder", Noticed: time.Now(), Files: watcher.FilesOf(files...)}
}

func with(tree watcher.Tree, file watcher.File) watcher.Tree {
	tree.Files = tree.Files.With([]watcher.File{file}, nil)
	return tree
}

// An edit that changes no problem walks none: the list of before is published, and no step
// on the way made another.
func TestAnEditThatChangesNoProblemWalksNone(t *testing.T) {
	p, r, log := newTestPipeline(t)
	tree := with(flawed(20), routeFile("sound", "a", ""))
	service := []byte("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}")
	tree = with(tree, watcher.File{Path: "service.yaml", Content: service, Hash: sha256.Sum256(service)})
	p.reload(tree)
	last := func() []manifest.Problem { return r.published[len(r.published)-1].Problems }
	first := last()
	if len(first) < 30 {
		t.Fatalf("%d problems", len(first))
	}
	log.Reset()
	edits := []struct {
		name string
		file watcher.File
		same bool
	}{
		{"another path", routeFile("sound", "a", "# one\n"), true},
		{"a new route with a problem", routeFile("fresh", "nobody", ""), false},
		{"a problem on another line", routeFile("r0", "nobody", "# one\n"), false},
		{"a problem mended", routeFile("r0", "a", ""), false},
		{"a broken file mended", routeFile("r1", "nobody", ""), false},
	}
	for _, edit := range edits {
		before := last()
		tree = with(tree, edit.file)
		p.reload(tree)
		if store.SameProblems(before, last()) != edit.same {
			t.Errorf("%s: given again is %t", edit.name, !edit.same)
		}
		fresh, want, _ := newTestPipeline(t)
		fresh.reload(tree)
		if got, want := last(), want.published[0].Problems; !slices.Equal(got, want) {
			t.Errorf("%s: got  %v\nwant %v", edit.name, got, want)
		}
		errors, warnings := manifest.Count(last())
		if p.reader.errors != errors || p.reader.warnings != warnings {
			t.Errorf("%s: %d errors and %d warnings are told of, %d and %d stand", edit.name, p.reader.errors, p.reader.warnings, errors, warnings)
		}
	}
}

// BenchmarkStandingProblems is an edit among 10,000 problems that changes none of them,
// or one.
func BenchmarkStandingProblems(b *testing.B) {
	for name, edits := range map[string][2]watcher.File{
		"changes=0": {routeFile("sound", "a", ""), routeFile("sound", "b", "")},
		"changes=1": {routeFile("r0", "nobody", ""), routeFile("r0", "none", "")},
	} {
		b.Run(name, func(b *testing.B) {
			folder, err := newReader(b.Context(), Folder{})
			if err != nil {
				b.Fatal(err)
			}
			translator, tree := translate.New(onAllInterfaces(translate.Options{})), flawed(7_500)
			services := []byte("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {ports: [{port: 80}]}}")
			tree = with(tree, watcher.File{Path: "service.yaml", Content: services, Hash: sha256.Sum256(services)})
			var problems []manifest.Problem
			b.ReportAllocs()
			step := func(i int) {
				tree = with(tree, edits[i%2])
				change, err := folder.apply(b.Context(), tree, never)
				if err != nil {
					b.Fatal(err)
				}
				problems = folder.located(change, translator.Apply(change))
			}
			step(1)
			for i := 0; b.Loop(); i++ {
				step(i)
			}
			b.ReportMetric(float64(len(problems)), "problems")
		})
	}
}
