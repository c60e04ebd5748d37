package store

import (
	"fmt"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// renameListenerSets does the same as schema.RenameListenerSets for objects that gatefold reads, and reports one warning for
// the object.
func (d *documentReader) renameListenerSets(at fieldPath, object map[string]any) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if kind != schema.OldListenerSet && kindOf(apischema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()) == nil {
		return
	}
	paths := schema.RenameListenerSets(object)
	if len(paths) == 0 {
		return
	}
	p := manifest.Problem{
		Code: schema.DeprecatedField, Severity: manifest.Warning, Field: paths[0],
		Message: schema.OldListenerSet + " of " + schema.OldGroup + " is the older name of ListenerSet, and gatefold reads it as a ListenerSet",
		Hint:    "write group: " + gatewayGroup + " and kind: ListenerSet",
	}
	if paths[0] == "kind" {
		p.Hint = fmt.Sprintf("write apiVersion: %s and kind: ListenerSet, also in references to it", object["apiVersion"])
	}
	if len(paths) > 1 {
		p.Message += "; so in " + strings.Join(paths[1:min(len(paths), maxSettings)], ", ")
	}
	d.report(at, object, p)
}
