package engine

import (
	"maps"
	"strings"
	"testing"
)

// TestAnEditThatClosesOnError: an edit with the annotation gatefold.io/on-error takes effect although it has an error. Its
// errors hold no other edit of its unit. An error of another edit of the unit holds both.
func TestAnEditThatClosesOnError(t *testing.T) {
	const annotation = ", annotations: {gatefold.io/on-error: close}"
	p, r, _ := newTestPipeline(t)
	files := strictFolder()
	p.reload(teamsTree(files))
	for name, edit := range map[string]struct {
		edits   map[string][2]string // what is replaced in files
		applied bool
	}{
		"a policy":            {map[string][2]string{"policy.yaml": {"name: office}", "name: office" + annotation + "}"}}, true},
		"a policy without it": {map[string][2]string{"policy.yaml": {"name: office}", "name: office}"}}, false},
		"a policy with its route": {map[string][2]string{
			"policy.yaml": {"name: office}", "name: office" + annotation + "}"}, "shop.yaml": {"hostnames: [shop.test]", "hostnames: [shop.test, two.test]"},
		}, true},
		"a policy with a route that has an error": {map[string][2]string{
			"policy.yaml": {"name: office}", "name: office" + annotation + "}"}, "shop.yaml": {"hostnames: [shop.test]", "hostnames: [shop.test, two.test]\n  nofield: 1"},
		}, false},
		"another value": {map[string][2]string{"policy.yaml": {"name: office}", "name: office, annotations: {gatefold.io/on-error: open}}"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := maps.Clone(files)
			for file, replaced := range edit.edits {
				wrong[file] = strings.Replace(wrong[file], replaced[0], replaced[1], 1)
			}
			wrong["policy.yaml"] = strings.Replace(wrong["policy.yaml"], "192.0.2.0/24", "192.0.2.1/24", 1)
			p.reload(teamsTree(wrong))
			got := answers(r)
			if closed := got["shop.test"] == "500"; closed != edit.applied || len(edit.edits) > 1 && got["two.test"] != map[bool]string{true: "500"}[edit.applied] {
				t.Errorf("the responses are %v", got)
			}
			if held := p.reader.store.Held(); edit.applied && len(held) > 0 {
				t.Errorf("held: %v", held)
			}
			p.reload(teamsTree(files))
			if got := answers(r); got["shop.test"] == "500" || got["two.test"] != "" {
				t.Errorf("fixed: %v", got)
			}
		})
	}
}
