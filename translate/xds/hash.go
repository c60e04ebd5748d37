package xds

import (
	"fmt"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// setHashPolicies sets the sources of a request's hash, by which Envoy chooses an endpoint (ir.Hash).
func setHashPolicies(action *routev3.RouteAction, extras *ir.Extras) {
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

// checkHashPolicies rejects what Envoy would reject in hashPolicies of a TrafficPolicy.
func checkHashPolicies(c *checker, extras *ir.Extras) {
	c.hashes(ir.FieldHashPolicies.Path(), extras.Hash)
}

// hashes rejects what Envoy would reject in the hash policies of a field.
func (c *checker) hashes(field string, hashes []ir.Hash) {
	for i, hash := range hashes {
		if hash.Cookie != nil {
			at := fmt.Sprintf("%s[%d].cookie", field, i)
			c.cookieText(at+".name", hash.Cookie.Name)
			c.cookieText(at+".path", hash.Cookie.Path)
		}
	}
}

// cookieText rejects a text that a cookie cannot contain.
func (c *checker) cookieText(field, text string) {
	c.text(field, text)
	if strings.ContainsAny(text, ";\"") {
		c.reject(field, fmt.Sprintf("%q cannot be part of a cookie", manifest.Shorten(text)), "leave out semicolons and quotes")
	}
}
