package route

import (
	"fmt"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// closedRules returns the reasons of closed rules by their names, from the annotations of a route. The schema has
// validated the annotation.
func closedRules(annotations map[string]string) map[string]string {
	closed, err := api.ParseClosed(annotations[api.AnnotationClosed])
	if err != nil {
		return nil
	}
	return closed
}

// closedByAnnotation reports a rule that api.AnnotationClosed closes, and returns the reason in words. The hint does
// not name backendRefs first: whoever opens the rule must write what protects its requests before.
func (b *builder) closedByAnnotation(at, name, reason string) string {
	words := "closed by the annotation " + api.AnnotationClosed + ": " + reason
	b.problem(manifest.Warning, "RuleClosed", at, fmt.Sprintf("the rule %q answers %s, %s", name, ir.Path{RPC: ir.RPC{Is: b.grpc}}.UnresolvedWords(), words),
		"leave it closed until the folder has what protects its requests; docs/guides/import.md#open-a-closed-rule has the steps")
	return words
}
