package xds

import (
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// headerModifiersFilter returns the HTTP filter for the policy field headerModifiers. The filter writes the header
// values of this field as they are: they contain no template expressions. The header changes of the route itself are
// made by Envoy's router: after this filter for requests, before this filter for responses.
func headerModifiersFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.header_mutation/headerModifiers", joined: true, chain: emptyMutation, route: modifiersOf}
}

// modifiersOf returns the configuration of headerModifiersFilter, or nil if nothing is changed.
func modifiersOf(extras *ir.Extras) message {
	if extras.RequestHeaders.IsZero() && extras.ResponseHeaders.IsZero() {
		return nil
	}
	request, _ := mutations(steps(extras.RequestHeaders), false)
	response, _ := mutations(steps(extras.ResponseHeaders), true)
	return &headerv3.HeaderMutationPerRoute{Mutations: &headerv3.Mutations{RequestMutations: request, ResponseMutations: response}}
}

// steps returns the header changes as a list, in the order in which they are applied: remove, set, add.
func steps(mods ir.HeaderMods) []ir.HeaderChange {
	var changes []ir.HeaderChange
	for _, name := range mods.Remove {
		changes = append(changes, ir.HeaderChange{Kind: ir.RemoveHeader, Name: name})
	}
	for _, h := range mods.Set {
		changes = append(changes, ir.HeaderChange{Kind: ir.SetHeader, Name: h.Name, Value: ir.Template{{Text: h.Value}}})
	}
	for _, h := range mods.Add {
		changes = append(changes, ir.HeaderChange{Kind: ir.AddHeader, Name: h.Name, Value: ir.Template{{Text: h.Value}}})
	}
	return changes
}

// checkHeaderModifiers rejects what Envoy would reject in headerModifiers.
func checkHeaderModifiers(c *checker, extras *ir.Extras) {
	c.headers(ir.FieldHeaderModifiers.Path()+".request", extras.RequestHeaders)
	c.headers(ir.FieldHeaderModifiers.Path()+".response", extras.ResponseHeaders)
}
