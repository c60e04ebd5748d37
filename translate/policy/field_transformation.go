package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// transformation changes headers by template. It is the field that is merged
// deeply: the lists are joined, those of the preferred side last.
type transformation struct{}

func (transformation) Name() string { return "transformation" }

func (transformation) Merge(into, from *api.TrafficPolicySpec, s Strategy) Outcome {
	ours, theirs := into.Transformation, from.Transformation
	switch {
	case theirs == nil:
		return Kept
	case ours == nil, !s.deep() && s.prefersParent():
		into.Transformation = theirs
		return Taken
	case !s.deep():
		return Kept
	}
	first, last := theirs, ours
	if s.prefersParent() {
		first, last = ours, theirs
	}
	into.Transformation = &api.Transformation{
		Request:  join(first.Request, last.Request),
		Response: join(first.Response, last.Response),
	}
	return Joined
}

// join gives one change that does what first and last do, last being preferred:
// what it sets is not added to, and what it writes is not removed, by first.
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

func writes(list []api.HeaderTemplate, name string) bool {
	return slices.ContainsFunc(list, func(h api.HeaderTemplate) bool { return strings.EqualFold(h.Name, name) })
}

func (transformation) Lower(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if spec.Transformation == nil {
		return nil
	}
	var request, response []manifest.Problem
	extras.Request, request = headerChanges("spec.transformation.request", spec.Transformation.Request)
	extras.Response, response = headerChanges("spec.transformation.response", spec.Transformation.Response)
	return append(request, response...)
}

// headerChanges gives the steps in their order: set, add, remove.
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
