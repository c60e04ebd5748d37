package xds

import (
	"regexp"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// redirectCodes are the status codes that Envoy can redirect with.
var redirectCodes = map[uint32]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

// redirect returns Envoy's action that answers with a redirect. The parameter match is the route's condition.
func redirect(match *ir.Match, to *ir.Redirect) *routev3.RedirectAction {
	action := &routev3.RedirectAction{
		HostRedirect: to.Hostname,
		PortRedirect: to.Port,
		ResponseCode: redirectCodes[to.Status],
	}
	if to.Scheme != "" {
		action.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: to.Scheme}
	}
	if to.Path == nil {
		return action
	}
	if to.Path.Full {
		action.PathRewriteSpecifier = &routev3.RedirectAction_PathRedirect{PathRedirect: to.Path.Value}
		return action
	}
	prefix, substitution := prefixRewrite(match, to.Path)
	if substitution != nil {
		action.PathRewriteSpecifier = &routev3.RedirectAction_RegexRewrite{RegexRewrite: substitution}
	} else {
		action.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: prefix}
	}
	return action
}

// setRewrite sets the new host and path of requests in Envoy's action. The parameter match is the route's condition.
// The parameter rewrite may be nil.
func setRewrite(action *routev3.RouteAction, match *ir.Match, rewrite *ir.Rewrite) {
	if rewrite == nil {
		return
	}
	if rewrite.Hostname != "" {
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: rewrite.Hostname}
	}
	switch {
	case rewrite.Path == nil:
	case rewrite.Path.Full:
		// Only a regex rewrite keeps the query unchanged. \C matches any byte: a dot would not match bytes that are
		// not UTF-8.
		action.RegexRewrite = substitute(`^\C*$`, escapeSubstitution(rewrite.Path.Value))
	default:
		action.PrefixRewrite, action.RegexRewrite = prefixRewrite(match, rewrite.Path)
	}
}

// pushHosts moves the new Host of a rule, or autoHostRewrite, to the rule's backends. This is needed if a backend has
// a new Host of its own, because Envoy would use the setting of the rule for this backend, too. Each backend without
// a new Host of its own gets the rule's Host. If the rule has no new Host, the backend gets its own DNS name instead
// (ir.Backend.DNSName).
//
// pushHosts returns the action unchanged if no backend has a new Host of its own. It also returns the action
// unchanged if the rule has no new Host and autoHostRewrite is off.
func pushHosts(action ir.Action) ir.Action {
	byRule := action.Rewrite != nil && action.Rewrite.Hostname != ""
	auto := action.Extras != nil && action.Extras.AutoHost
	if action.Forward == nil || !byRule && !auto ||
		!slices.ContainsFunc(action.Forward.Backends, func(b ir.Backend) bool { return b.Rewrite != nil }) {
		return action
	}
	backends := slices.Clone(action.Forward.Backends)
	for i := range backends {
		host := backends[i].DNSName
		if byRule {
			host = action.Rewrite.Hostname
		}
		if backends[i].Rewrite == nil && host != "" {
			backends[i].Rewrite = &ir.Rewrite{Hostname: host}
		}
	}
	action.Forward = &ir.Forward{Backends: backends}
	if byRule {
		action.Rewrite = &ir.Rewrite{Path: action.Rewrite.Path}
	}
	if auto {
		extras := *action.Extras
		extras.AutoHost = false
		action.Extras = &extras
	}
	return action
}

// prefixRewrite returns how Envoy replaces the prefix change.Prefix of the path by change.Value, in whole segments
// (Gateway API, HTTPPathModifier). Usually Envoy's prefix_rewrite, which replaces plain text, is enough.
// prefixRewrite then returns the new text and nil. In two cases a regular expression is needed. prefixRewrite then
// returns "" and the expression with its replacement:
//   - The new prefix is "/", and the old prefix is not.
//   - The match is not a prefix match for change.Prefix, for example a child's exact path below its parent's prefix.
func prefixRewrite(match *ir.Match, change *ir.PathChange) (string, *matcherv3.RegexMatchAndSubstitute) {
	prefix, value := strings.TrimSuffix(change.Prefix, "/"), strings.TrimSuffix(change.Value, "/")
	byPrefix := match.Path.Kind == ir.PathPrefix && strings.TrimSuffix(match.Path.Value, "/") == prefix
	switch {
	case byPrefix && prefix != "" && value != "":
		return value, nil
	case byPrefix && prefix == "":
		return value + "/", nil
	case value == "":
		return "", substitute(`^`+regexp.QuoteMeta(prefix)+`(?:/(\C*))?$`, `/\1`)
	default:
		return "", substitute(`^`+regexp.QuoteMeta(prefix)+`(/\C*)?$`, escapeSubstitution(value)+`\1`)
	}
}

// escapeSubstitution escapes backslashes, so that Envoy finds no group references in plain text.
func escapeSubstitution(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }
