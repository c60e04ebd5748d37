// Package examples proves that every example and every whole YAML block of the
// documents is a folder without problems.
package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
	"github.com/gatefold/gatefold/watcher"
)

func TestExamplesHaveNoProblems(t *testing.T) {
	folders, err := filepath.Glob("*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range folders {
		folder := filepath.Dir(path)
		if seen[folder] {
			continue
		}
		seen[folder] = true
		t.Run(folder, func(t *testing.T) {
			tree, err := watcher.Read(t.Context(), watcher.Options{Root: folder})
			if err != nil {
				t.Fatal(err)
			}
			wantSound(t, tree, optionsOf(t, folder))
		})
	}
	if len(seen) < 2 {
		t.Fatalf("only %d examples found", len(seen))
	}
}

func TestDocumentedYAMLHasNoProblems(t *testing.T) {
	blocks, certificate := 0, secretOfDocuments(t)
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if base := filepath.Base(name); base == "json.md" || base == "problems.md" || base == "tree.md" {
				continue // they show mistakes
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(block[1], "kind: Gateway\n") {
					continue // a part of a folder, or the settings of another program
				}
				blocks++
				t.Run(fmt.Sprintf("%s#%d", filepath.Base(name), i+1), func(t *testing.T) {
					wantSound(t, cases.Tree(map[string][]byte{"document.yaml": []byte(block[1]), "secret.yaml": certificate}), translate.Options{})
				})
			}
		}
	}
	if blocks < 6 {
		t.Errorf("only %d blocks of YAML are whole folders", blocks)
	}
}

// The recipes of the guide are the files of the example, whose requests go through a real Envoy.
func TestSignInExampleIsTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/guides/sign-in.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	names := []string{"oauth2-proxy", "authelia", "authentik", "filter"}
	if len(blocks) != len(names) {
		t.Fatalf("%d blocks, want %v", len(blocks), names)
	}
	for i, name := range names {
		if file, err := os.ReadFile("sign-in/" + name + ".yaml"); err != nil || string(file) != blocks[i][1] {
			t.Errorf("sign-in/%s.yaml is not block %d of the guide: %v", name, i+1, err)
		}
	}
}

// optionsOf gives the options that an example is served with.
func optionsOf(t *testing.T, folder string) translate.Options {
	t.Helper()
	all, err := cases.Examples(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Name == "example-"+folder {
			return c.Options
		}
	}
	return translate.Options{}
}

// What the BackendConfigPolicy of the example says stands in its cluster.
func TestPoliciesExampleReachesTheCluster(t *testing.T) {
	tree, err := watcher.Read(t.Context(), watcher.Options{Root: "policies"})
	if err != nil {
		t.Fatal(err)
	}
	for _, update := range wantSound(t, tree, translate.Options{}).Delta {
		cluster := &clusterv3.Cluster{}
		if update.Type != xds.ClusterType {
			continue
		}
		if err := proto.Unmarshal(update.Resource.Body, cluster); err != nil {
			t.Fatal(err)
		}
		if checks := cluster.GetHealthChecks(); len(checks) != 1 || checks[0].GetHttpHealthCheck().GetPath() != "/healthz" {
			t.Errorf("%s: health checks %v", update.Name, checks)
		}
		if got := cluster.GetOutlierDetection().GetConsecutive_5Xx().GetValue(); got != 5 {
			t.Errorf("%s: ejected after %d answers of 5xx", update.Name, got)
		}
		if got := cluster.GetCircuitBreakers().GetThresholds()[0].GetMaxPendingRequests().GetValue(); got != 100 {
			t.Errorf("%s: %d requests may wait", update.Name, got)
		}
		return
	}
	t.Error("no cluster")
}

// wantSound fails for any problem, and for a folder that serves nothing.
// secretOfDocuments returns the Secret that the YAML of documents names and does not show.
func secretOfDocuments(t *testing.T) []byte {
	t.Helper()
	certificate, key := envoytest.FixedAuthority(t, "documents").Issue("shop.localhost")
	return fmt.Appendf(nil, "apiVersion: v1\nkind: Secret\nmetadata: {name: shop-cert}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}\n",
		certificate, key)
}

func wantSound(t *testing.T, tree watcher.Tree, options translate.Options) translate.Result {
	t.Helper()
	objects, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := objects.Apply(tree)
	result := translate.New(options).Apply(change)
	for _, problem := range append(change.Problems, objects.Locate(result.Problems)...) {
		t.Error(problem.Text(false))
	}
	kinds := map[string]int{}
	for _, update := range result.Delta {
		kinds[update.Type[strings.LastIndex(update.Type, ".")+1:]]++
	}
	streams := slices.ContainsFunc(change.Set, func(o *manifest.Object) bool { return route.IsStream(o.Key) })
	for _, kind := range []string{"Listener", "RouteConfiguration", "Cluster"} {
		if kinds[kind] == 0 && (kind != "RouteConfiguration" || !streams) {
			t.Errorf("no %s: %v", kind, kinds)
		}
	}
	return result
}
