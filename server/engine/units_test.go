package engine

import (
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/tenancy"
)

// TestUnitsFollowThePolicies: a file that two namespaces have is a unit of its own, so that none of them delays the rest
// of the other.
func TestUnitsFollowThePolicies(t *testing.T) {
	p, _, _ := newTestPipelineOf(t, Folder{Store: store.Options{ClusterPaths: tenancy.Globs{"platform/**"}}})
	files := map[string]string{"platform/n.yaml": fenced("a", "teams/a/**, shared/x.yaml") + fenced("b", "teams/b/**, shared/x.yaml") + fenced("open", "")}
	wants := func(want map[string]string) {
		t.Helper()
		for path, unit := range want {
			if got := p.units.of(path); got != unit {
				t.Errorf("%s is of unit %q, want %q", path, got, unit)
			}
		}
	}
	wants(map[string]string{"teams/a/x.yaml": "", "platform/n.yaml": ""}) // they are not known yet
	p.reload(teamsTree(files))
	wants(map[string]string{"": "", "teams/a/x.yaml": "a", "teams/b/y/z.yaml": "b", "shared/x.yaml": "a b", "platform/n.yaml": platformUnit, "nobody/x.yaml": ""})
	files["platform/n.yaml"] = fenced("a", "teams/**")
	p.reload(teamsTree(files))
	wants(map[string]string{"teams/b/y/z.yaml": "a"})
}

// fenced is a Namespace whose objects come from paths, or from any file if there are none.
func fenced(name, paths string) string {
	annotations := ""
	if paths != "" {
		annotations = `, annotations: {gatefold.io/paths: "` + paths + `"}`
	}
	return "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: " + name + annotations + "}}\n"
}
