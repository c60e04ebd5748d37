package xds

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/formatter/cel/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

type transformationFilter struct{}

func (transformationFilter) Name() string { return "envoy.filters.http.header_mutation" }

func (transformationFilter) Field() ir.Field { return ir.FieldTransformation }

func (transformationFilter) Chain() message { return &headerv3.HeaderMutation{} }

func (transformationFilter) Route(extras *ir.Extras) message {
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

// mutations gives the steps in their order; cel tells that one of them computes.
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
			// A header that is set is never the client's: where the value is empty,
			// Envoy would leave the old one.
			KeepEmptyValue: true,
		}
		if change.Kind == ir.AddHeader {
			option.AppendAction = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		}
		list = append(list, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: option}})
	}
	return list, cel
}

// celFormatter turns on the functions that templates use: without the switches
// Envoy takes some of them and writes no header at all.
func celFormatter() *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: "envoy.formatter.cel", TypedConfig: pack(&celv3.Cel{
		CelConfig: &corev3.CelExpressionConfig{EnableStringFunctions: true, EnableStringConcat: true, EnableStringConversion: true},
	})}
}
