package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// joinTransformations combines the policy field transformation of two specs, and stores the result in the parameter
// into (see Field.join). The function join combines the transformations of requests, and those of responses.
func joinTransformations(into, first, last *api.TrafficPolicySpec) {
	into.Transformation = &api.Transformation{
		Request:  join(first.Transformation.Request, last.Transformation.Request),
		Response: join(first.Transformation.Response, last.Transformation.Response),
	}
}

// join combines two transformations, the parameters first and last. In the result, the changes of first come before
// the changes of last. These changes of first are left out, because they contradict last:
//   - an addition to a header, if last sets the header;
//   - a removal of a header, if last sets or adds the header.
//
// The body of the result is last.Body, or first.Body if last.Body is nil. If one argument is nil, join returns the
// other argument.
func join(first, last *api.Transform) *api.Transform {
	if first == nil || last == nil {
		if first == nil {
			return last
		}
		return first
	}
	out := &api.Transform{
		Set:    slices.Concat(first.Set, last.Set),
		Add:    slices.Clone(first.Add),
		Remove: slices.Clone(first.Remove),
		Body:   last.Body,
	}
	if out.Body == nil {
		out.Body = first.Body
	}
	out.Add = slices.DeleteFunc(out.Add, func(h api.HeaderTemplate) bool { return writes(last.Set, h.Name) })
	out.Remove = slices.DeleteFunc(out.Remove, func(name string) bool {
		return writes(last.Set, name) || writes(last.Add, name)
	})
	out.Add = append(out.Add, last.Add...)
	out.Remove = append(out.Remove, last.Remove...)
	return out
}

// writes reports whether a list has a header with this name. It ignores case.
func writes(list []api.HeaderTemplate, name string) bool {
	return slices.ContainsFunc(list, func(h api.HeaderTemplate) bool { return strings.EqualFold(h.Name, name) })
}

// lowerTransformation converts the policy field transformation (see Field.lower).
func lowerTransformation(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	var request, response []manifest.Problem
	extras.Request, request = headerChanges(ir.FieldTransformation.Path()+".request", spec.Transformation.Request)
	extras.Response, response = headerChanges(ir.FieldTransformation.Path()+".response", spec.Transformation.Response)
	return append(request, response...)
}

// headerChanges converts the transformation of a request or response (from). The changes are in the order set,
// add, remove. The parameter at is the path of the transformation; the problems name fields below that path. Each
// invalid template is a problem. A body is a problem, too, because gatefold changes only headers. For a nil
// transformation, both results are nil.
func headerChanges(at string, from *api.Transform) (changes []ir.HeaderChange, problems []manifest.Problem) {
	if from == nil {
		return nil, nil
	}
	if from.Body != nil {
		problems = append(problems, notServed(at+".body", `the field "body"`, "remove it; headers can be changed"))
	}
	write := func(kind ir.ChangeKind, list string, headers []api.HeaderTemplate) {
		for i, header := range headers {
			value, fault := parseTemplate(header.Value)
			if fault != nil {
				fault.Field = fmt.Sprintf("%s.%s[%d].value", at, list, i)
				problems = append(problems, *fault)
			}
			changes = append(changes, ir.HeaderChange{Kind: kind, Name: header.Name, Value: value})
		}
	}
	write(ir.SetHeader, "set", from.Set)
	write(ir.AddHeader, "add", from.Add)
	for _, name := range from.Remove {
		changes = append(changes, ir.HeaderChange{Kind: ir.RemoveHeader, Name: name})
	}
	return changes, problems
}
