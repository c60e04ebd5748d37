package store

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
)

// http returns the rule as that of an HTTPRoute.
func (r readableRule) http() (out api.HTTPRouteRule) {
	if r.name != "" {
		name := gwv1.SectionName(r.name)
		out.Name = &name
	}
	if r.lost {
		out.Matches = []gwv1.HTTPRouteMatch{}
	}
	for _, m := range r.matches {
		one := gwv1.HTTPRouteMatch{Path: m.path}
		if m.method != "" {
			method := gwv1.HTTPMethod(m.method)
			one.Method = &method
		}
		for _, v := range m.headers {
			h := gwv1.HTTPHeaderMatch{Name: gwv1.HTTPHeaderName(v.name), Value: v.value}
			if v.regex {
				of := gwv1.HeaderMatchRegularExpression
				h.Type = &of
			}
			one.Headers = append(one.Headers, h)
		}
		for _, v := range m.query {
			q := gwv1.HTTPQueryParamMatch{Name: gwv1.HTTPHeaderName(v.name), Value: v.value}
			if v.regex {
				of := gwv1.QueryParamMatchRegularExpression
				q.Type = &of
			}
			one.QueryParams = append(one.QueryParams, q)
		}
		out.Matches = append(out.Matches, one)
	}
	for _, name := range r.policies {
		out.Filters = append(out.Filters, gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: policyRef(name)})
	}
	return out
}

// grpc returns the rule as that of a GRPCRoute.
func (r readableRule) grpc() (out gwv1.GRPCRouteRule) {
	if r.name != "" {
		name := gwv1.SectionName(r.name)
		out.Name = &name
	}
	if r.lost {
		out.Matches = []gwv1.GRPCRouteMatch{}
	}
	for _, m := range r.matches {
		one := gwv1.GRPCRouteMatch{Method: m.rpc}
		for _, v := range m.headers {
			h := gwv1.GRPCHeaderMatch{Name: gwv1.GRPCHeaderName(v.name), Value: v.value}
			if v.regex {
				of := gwv1.GRPCHeaderMatchRegularExpression
				h.Type = &of
			}
			one.Headers = append(one.Headers, h)
		}
		out.Matches = append(out.Matches, one)
	}
	for _, name := range r.policies {
		out.Filters = append(out.Filters, gwv1.GRPCRouteFilter{Type: gwv1.GRPCRouteFilterExtensionRef, ExtensionRef: policyRef(name)})
	}
	return out
}

// policyRef returns the reference of a filter to a TrafficPolicy.
func policyRef(name string) *gwv1.LocalObjectReference {
	return &gwv1.LocalObjectReference{Group: api.Group, Kind: api.KindTrafficPolicy, Name: gwv1.ObjectName(name)}
}
