package xds

import (
	"fmt"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/formatter/cel/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

const mutationName = "envoy.filters.http.header_mutation"

// transformationFilter returns the HTTP filter for the policy field transformation.
func transformationFilter() httpFilter {
	return httpFilter{name: mutationName, joined: true, chain: emptyMutation, route: transformationOf}
}

// emptyMutation returns the configuration of a header_mutation filter in the filter chain of the listener. With it,
// the filter changes nothing.
func emptyMutation() message { return &headerv3.HeaderMutation{} }

// transformationOf returns the configuration of transformationFilter, or nil if nothing is changed.
func transformationOf(extras *ir.Extras) message {
	if len(extras.Request)+len(extras.Response) == 0 {
		return nil
	}
	request, requestCEL := mutations(extras.Request, false)
	response, responseCEL := mutations(extras.Response, true)
	changes := &headerv3.Mutations{RequestMutations: request, ResponseMutations: response}
	if requestCEL || responseCEL {
		changes.Formatters = []*corev3.TypedExtensionConfig{celFormatter()}
	}
	return &headerv3.HeaderMutationPerRoute{Mutations: changes}
}

// mutations converts header changes, in order. The parameter response is true if they change a response. The
// result cel is true if a value needs the CEL formatter (see celFormatter).
func mutations(changes []ir.HeaderChange, response bool) (list []*mutationv3.HeaderMutation, cel bool) {
	for _, change := range changes {
		if change.Kind == ir.RemoveHeader {
			list = append(list, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: change.Name}})
			continue
		}
		value, computed := format(change.Value, response)
		cel = cel || computed
		option := &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: change.Name, Value: value},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			// A header that is set must not keep the client's value. Without KeepEmptyValue, Envoy would keep the old
			// value if the new one is empty.
			KeepEmptyValue: true,
		}
		if change.Kind == ir.AddHeader {
			option.AppendAction = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		}
		list = append(list, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: option}})
	}
	return list, cel
}

// celFormatter returns the CEL formatter. Its configuration enables CEL's text functions, which header values use.
// If the functions are not enabled, Envoy accepts some of these values, but does not write the header.
func celFormatter() *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: "envoy.formatter.cel", TypedConfig: pack(&celv3.Cel{
		CelConfig: &corev3.CelExpressionConfig{EnableStringFunctions: true, EnableStringConcat: true, EnableStringConversion: true},
	})}
}

// checkTransformation rejects what Envoy would reject in transformation.
func checkTransformation(c *checker, extras *ir.Extras) {
	c.changes(ir.FieldTransformation.Path()+".request", extras.Request)
	c.changes(ir.FieldTransformation.Path()+".response", extras.Response)
}

// changes rejects invalid header changes of a transformation. The parameter at is the path of transformation.request
// or transformation.response. The problems name fields below this path, for example the field set[n] for the n-th
// change that sets a header.
func (c *checker) changes(at string, changes []ir.HeaderChange) {
	seen := map[ir.ChangeKind]int{}
	for _, change := range changes {
		field := fmt.Sprintf("%s.%s[%d]", at, [...]string{"set", "add", "remove"}[change.Kind], seen[change.Kind])
		seen[change.Kind]++
		name := field
		if change.Kind != ir.RemoveHeader {
			name += ".name"
		}
		if strings.HasPrefix(change.Name, ":") {
			c.reject(name, fmt.Sprintf("%s is not a header: a transformation cannot change it", change.Name),
				"use the filter URLRewrite for host and path")
			continue
		}
		c.changedName(name, change.Name, change.Kind == ir.RemoveHeader)
		c.template(field+".value", change.Value)
		if value, _ := format(change.Value, false); len(value) > maxHeaderValue {
			c.reject(field+".value", fmt.Sprintf("the value is %d bytes long, over the limit of %d", len(value), maxHeaderValue), "shorten it")
		}
	}
}

// template rejects invalid texts in a template, including the texts inside its functions.
func (c *checker) template(field string, template ir.Template) {
	for _, expr := range template {
		c.headerValue(field, expr.Text)
		c.template(field, expr.Args)
	}
}
