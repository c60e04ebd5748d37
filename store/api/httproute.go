package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// HTTPRoute is Gateway API's HTTPRoute with what GEP-1058 adds to its rules.
type HTTPRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec HTTPRouteSpec `json:"spec"`
}

// HTTPRouteSpec is gwv1.HTTPRouteSpec with our rules.
type HTTPRouteSpec struct {
	gwv1.CommonRouteSpec `json:",inline"`

	Hostnames []gwv1.Hostname `json:"hostnames,omitempty"`
	Rules     []HTTPRouteRule `json:"rules,omitempty"`
}

// HTTPRouteRule is gwv1.HTTPRouteRule and AllowedRoutes.
type HTTPRouteRule struct {
	gwv1.HTTPRouteRule `json:",inline"`

	// AllowedRoutes admits child routes to this rule, which then has no
	// backendRefs (GEP-1058, Summary of Changes 2).
	AllowedRoutes *gwv1.AllowedRoutes `json:"allowedRoutes,omitempty"`
}

// PathMatchPostfix matches a child's path that follows its parent's after
// anything (GEP-1058, Path Matching, option 2).
const PathMatchPostfix gwv1.PathMatchType = "PathPostfix"
