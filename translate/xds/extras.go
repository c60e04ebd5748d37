package xds

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// withExtras completes an action by what policies say of its own fields: what
// the route says itself goes before.
func withExtras(action ir.Action) ir.Action {
	bare := action.Redirect != nil && action.Redirect.PortLess
	if action.Extras == nil && action.CORS == nil && !bare {
		return action
	}
	extras := ir.Extras{}
	if action.Extras != nil {
		extras = *action.Extras
	}
	extras.CORS = action.CORSInForce()
	if bare {
		extras.LocationPort = action.Redirect.Port
	}
	if action.RequestTimeout == nil {
		action.RequestTimeout = extras.RequestTimeout
	}
	if action.Retry == nil {
		action.Retry = extras.Retry
	}
	action.Extras = &extras
	return action
}

// setExtras sets the fields that only policies know.
func setExtras(action *routev3.RouteAction, from *ir.Action) {
	extras := from.Extras
	if extras == nil {
		return
	}
	if extras.IdleTimeout != nil {
		action.IdleTimeout = durationpb.New(*extras.IdleTimeout)
	}
	if extras.AutoHost && action.HostRewriteSpecifier == nil {
		action.HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
	}
	for _, hash := range extras.Hash {
		action.HashPolicy = append(action.HashPolicy, hashPolicy(hash))
	}
}

func hashPolicy(hash ir.Hash) *routev3.RouteAction_HashPolicy {
	policy := &routev3.RouteAction_HashPolicy{Terminal: hash.Terminal}
	switch {
	case hash.Header != "":
		policy.PolicySpecifier = &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: hash.Header},
		}
	case hash.Cookie != nil:
		policy.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: hashCookie(hash.Cookie)}
	default:
		policy.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{
			ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true},
		}
	}
	return policy
}

func hashCookie(from *ir.HashCookie) *routev3.RouteAction_HashPolicy_Cookie {
	cookie := &routev3.RouteAction_HashPolicy_Cookie{Name: from.Name, Path: from.Path}
	if from.TTL != nil {
		cookie.Ttl = durationpb.New(*from.TTL)
	}
	attribute := func(name, value string, wanted bool) {
		if wanted {
			cookie.Attributes = append(cookie.Attributes, &routev3.RouteAction_HashPolicy_CookieAttribute{Name: name, Value: value})
		}
	}
	attribute("Secure", "", from.Secure)
	attribute("HttpOnly", "", from.HTTPOnly)
	attribute("SameSite", from.SameSite, from.SameSite != "")
	return cookie
}
