package store

import (
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
)

// element reads the item with the index i of a list. In two special cases it records policies as invalid, so that
// their targets answer requests with an error and are not served without the policies:
//   - The item is no object, or is itself a List. element reports a problem, and reads no objects from the item. It
//     only looks for policies in the item, and records them.
//   - The item has no kind, and is probably meant as a policy. element records this policy.
func (d *documentReader) element(i int) {
	at := fieldPath{{named: true, key: "items"}, {index: i}}
	object, ok := d.elements[i].(map[string]any)
	name, _ := object["kind"].(string)
	switch {
	case !ok:
		d.report(at, nil, manifest.Problem{Code: "NotAnObject", Message: "the item is " + describe(d.elements[i]) + ", not an object"})
		d.closeItems(at, d.valueAt(at), d.problems)
	case strings.EqualFold(name, kindList):
		d.report(at, nil, manifest.Problem{
			Code: "NotAnObject", Message: "the item is a list: gatefold does not read a list in a list", Hint: "write its items into the outer list",
		})
		d.closeItems(at, d.valueAt(at), d.problems)
	case object["kind"] == nil:
		known := len(d.problems)
		d.object(at, object)
		d.closeFor(at, itemOf(d.outer, d.written(at)), d.problems[known:])
	default:
		d.object(at, object)
	}
}

// kindList is the kind of a list of any objects.
const kindList = "List"

// wrongList returns the problem of an invalid List: it has no list of items, or its kind is misspelt, for example "list".
// The second result is false if the object is no List. The caller has excluded valid Lists.
func wrongList(object map[string]any) (p manifest.Problem, wrong bool) {
	name, _ := object["kind"].(string)
	if !strings.EqualFold(name, kindList) && !listsObjects(object) {
		return p, false
	}
	if name != kindList {
		return manifest.Problem{Code: "UnknownKind", Field: "kind", Message: "there is no kind " + quote(name), Hint: "did you mean kind: List?"}, true
	}
	return manifest.Problem{
		Code: "RequiredField", Message: "the List has no list of items: none of its objects is read", Hint: "write the objects into a list below items",
	}, true
}

// listsObjects reports whether an object has a kind that gatefold does not read, and items as a List has them: one of them
// is of a kind that gatefold reads.
func listsObjects(object map[string]any) bool {
	reads := func(object map[string]any) bool {
		return kindOf(apischema.FromAPIVersionAndKind(textOf(object["apiVersion"]), textOf(object["kind"])).GroupKind()) != nil
	}
	items, _ := object["items"].([]any)
	return !reads(object) && slices.ContainsFunc(items, func(item any) bool {
		one, _ := item.(map[string]any)
		return reads(one)
	})
}
