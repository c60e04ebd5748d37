package xds

import (
	"cmp"
	"slices"
	"strings"

	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/encoding/protowire"
)

// JWTFilter is the name of the filter that checks tokens, in the chain of every listener and as a resource. In
// Envoy, the providers of tokens belong to the filter and not to routes. So the filter's configuration is a
// resource, and an edit of the configuration changes no listener. A route names one requirement of the filter.
const JWTFilter = "gatefold/jwt"

// Field numbers of envoy.config.core.v3.TypedExtensionConfig, which this file encodes and decodes with protowire.
const (
	filterName   protowire.Number = 1
	filterConfig protowire.Number = 2
)

// Requirement is a Piece that contains the JWT settings of one GatewayExtension: its token providers, and a condition
// that a route can put on requests, for example that they have a token of one of these providers. The string field
// Piece.Requirement is the "namespace/name" of the GatewayExtension. Piece.Body has the providers and the condition
// as encoded fields of a JwtAuthentication message. All Bodies, one after another, are the whole message.
type Requirement = Piece

// RequirementFilter returns the resource JWTFilter with all requirements, which must have different names. If
// there are no requirements, no route can use the filter.
func RequirementFilter(all []Requirement) Resource {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Requirement) int { return cmp.Compare(a.Requirement, b.Requirement) })
	var config []byte
	for _, r := range sorted {
		config = append(config, r.Body...)
	}
	packed := append(text(anyTypeURL, pack(&jwtv3.JwtAuthentication{}).GetTypeUrl()), wrap(anyValue, config)...)
	return newResource(FilterType, JWTFilter, append(text(filterName, JWTFilter), wrap(filterConfig, packed)...))
}

// Requirements returns the requirements in the body of a resource that RequirementFilter has returned. It returns nil
// if there are none, and if the body is no such resource.
func Requirements(filter []byte) (all []Requirement) {
	config, ok := bytesAt(filter, filterConfig, anyValue)
	if !ok {
		return nil
	}
	at := map[string]int{}
	for len(config) > 0 {
		number, kind, tag := protowire.ConsumeTag(config)
		size := protowire.ConsumeFieldValue(number, kind, config[max(tag, 0):])
		if tag < 0 || size < 0 {
			return nil
		}
		name, _ := bytesAt(config[:tag+size], number, entryKey)
		if owner := ownerOf(string(name)); owner != "" {
			i, known := at[owner]
			if !known {
				i = len(all)
				at[owner] = i
				all = append(all, Requirement{Part: Part{Requirement: owner}})
			}
			all[i].Body = append(all[i].Body, config[:tag+size]...)
		}
		config = config[tag+size:]
	}
	return all
}

// ownerOf returns the name of the requirement that an entry of a JwtAuthentication map belongs to: "shop/idp"
// for "shop/idp" and for "shop/idp/provider". It returns "" for an entry without a slash.
func ownerOf(entry string) string {
	parts := strings.SplitN(entry, "/", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// bytesAt returns the value of a nested field in an encoded message. The parameter path has the field numbers, the
// outermost first. Of a repeated field, bytesAt uses the first element. With an empty path, it returns the message
// itself. The result ok is false if the message has no such field or cannot be read.
func bytesAt(body []byte, path ...protowire.Number) (value []byte, ok bool) {
	if len(path) == 0 {
		return body, true
	}
	for len(body) > 0 {
		number, kind, tag := protowire.ConsumeTag(body)
		size := protowire.ConsumeFieldValue(number, kind, body[max(tag, 0):])
		if tag < 0 || size < 0 {
			return nil, false
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(body[tag:])
			return bytesAt(value, path[1:]...)
		}
		body = body[tag+size:]
	}
	return nil, false
}
