package xds

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	customv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/custom_response/v3"
	rbacfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	localv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/custom_response/local_response_policy/v3"
	networkv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/metadata/v3"
	envoymatcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// The field acl has an rbac filter of its own, whose matcher compares the client's address. The access log and
// the filter's metadata contain the name of the rule that denied a request. The name begins with aclPolicy,
// because all rbac filters of a chain write into one namespace of the metadata.

const (
	aclName       = "gatefold/" + string(ir.FieldACL)
	aclPolicy     = "acl/"
	aclNoRule     = aclPolicy + "-default"
	aclUnnamed    = aclPolicy + "-rule"
	rbacNamespace = "envoy.filters.http.rbac"
)

// aclFilter returns the HTTP filter for the policy field acl.
func aclFilter() httpFilter {
	return httpFilter{name: aclName, since: 1, chain: emptyRBAC, route: aclRules}
}

// aclResponseFilter returns the filter that replaces the answers of aclFilter. It is before aclFilter in the
// chain, because an answer passes only the filters before the filter that answers.
func aclResponseFilter() httpFilter {
	return httpFilter{name: aclName + "/response", since: 1, joined: true, chain: func() message { return &customv3.CustomResponse{} }, route: aclResponse}
}

// emptyRBAC returns a configuration that lets every request pass.
func emptyRBAC() message { return &rbacfilterv3.RBAC{} }

// aclRules returns the configuration of aclFilter, or nil without acl.
func aclRules(extras *ir.Extras) message {
	if extras.ACL == nil {
		return nil
	}
	return &rbacfilterv3.RBACPerRoute{Rbac: &rbacfilterv3.RBAC{Matcher: aclMatcher(extras.ACL)}}
}

// aclMatcher returns a matcher that allows or denies each address. If several ranges contain the address, the
// range with the longest prefix decides.
func aclMatcher(acl *ir.ACL) *xdsmatcherv3.Matcher {
	var rules []addressRanges
	names := aclPolicyNames(acl)
	for i := range acl.Rules {
		rule := &acl.Rules[i]
		rules = append(rules, addressRanges{rule.Ranges, rbacAction(names[i], rule.Allow)})
	}
	return bySource(rbacAction(aclNoRule, acl.Allow), rules...)
}

// addressRanges is an action for the addresses in some ranges.
type addressRanges struct {
	ranges []string
	action *xdsmatcherv3.Matcher_OnMatch
}

// bySource returns a matcher that chooses an action by the client's address. If several ranges contain the
// address, the range with the longest prefix decides. The parameter others is the action for an address in no range.
// An IPv4-mapped address (::ffff:192.0.2.1) counts as IPv4: an IPv6 range such as ::/0 does not contain it.
func bySource(others *xdsmatcherv3.Matcher_OnMatch, rules ...addressRanges) *xdsmatcherv3.Matcher {
	matcher, ranges := &xdsmatcherv3.Matcher{OnNoMatch: others}, &xdsmatcherv3.IPMatcher{}
	for _, rule := range rules {
		if len(rule.ranges) > 0 {
			ranges.RangeMatchers = append(ranges.RangeMatchers, &xdsmatcherv3.IPMatcher_IPRangeMatcher{
				Ranges: cidrRanges(rule.ranges), OnMatch: rule.action,
			})
		}
	}
	if len(ranges.RangeMatchers) == 0 {
		return matcher
	}
	if containMapped(rules) {
		ranges.RangeMatchers = append(ranges.RangeMatchers, &xdsmatcherv3.IPMatcher_IPRangeMatcher{
			Ranges:  []*xdscorev3.CidrRange{{AddressPrefix: mapped().Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(mapped().Bits()))}},
			OnMatch: others,
		})
	}
	matcher.MatcherType = &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
		Input:    extension("source-ip", &networkv3.SourceIPInput{}),
		TreeType: &xdsmatcherv3.Matcher_MatcherTree_CustomMatch{CustomMatch: extension("ip", ranges)},
	}}
	return matcher
}

// mapped returns the IPv6 range of IPv4-mapped addresses.
func mapped() netip.Prefix { return netip.MustParsePrefix("::ffff:0.0.0.0/96") }

// containMapped reports whether the IPv4-mapped addresses need a range of their own. That is so if an IPv6 range
// such as ::/0 contains them, but no range contains all IPv4 addresses.
func containMapped(rules []addressRanges) (contained bool) {
	for _, rule := range rules {
		for _, text := range rule.ranges {
			r := netip.MustParsePrefix(text)
			if r.Addr().Is4() && r.Bits() == 0 {
				return false
			}
			contained = contained || r.Contains(mapped().Addr())
		}
	}
	return contained
}

// aclPolicyName returns the name of a rule in Envoy: aclPolicy and the rule's name, or aclUnnamed for a rule
// without a name. Rules with equal names have the same name in Envoy. A rule's name that begins with "-" gets another
// "-" before it, so that the result never equals aclUnnamed or aclNoRule.
func aclPolicyName(rule *ir.ACLRule) string {
	switch {
	case rule.Name == "":
		return aclUnnamed
	case strings.HasPrefix(rule.Name, "-"):
		return aclPolicy + "-" + rule.Name
	}
	return aclPolicy + rule.Name
}

// aclPolicyNames returns the names of all rules in Envoy (see aclPolicyName). Rules that deny with different answers
// have different names: from the second answer on, there is a number before the name of the rule.
func aclPolicyNames(acl *ir.ACL) []string {
	out := make([]string, len(acl.Rules))
	answers := map[string][]*ir.ACLResponse{}
	for i := range acl.Rules {
		rule := &acl.Rules[i]
		if out[i] = aclPolicyName(rule); rule.Allow {
			continue
		}
		known, answer := answers[out[i]], acl.ResponseOf(i)
		at := slices.IndexFunc(known, func(r *ir.ACLResponse) bool { return reflect.DeepEqual(r, answer) })
		if at < 0 {
			at, answers[out[i]] = len(known), append(known, answer)
		}
		if at > 0 {
			out[i] = fmt.Sprintf("%s-%d/%s", aclPolicy, at+1, rule.Name)
		}
	}
	return out
}

// rbacAction returns the action of a matcher that allows or denies a request. Envoy writes the action's name
// into the filter's metadata.
func rbacAction(name string, allow bool) *xdsmatcherv3.Matcher_OnMatch {
	action := &rbacv3.Action{Name: name, Action: rbacv3.RBAC_DENY}
	if allow {
		action.Action = rbacv3.RBAC_ALLOW
	}
	return onMatch(action)
}

// onMatch returns a message as the action of a matcher.
func onMatch(action proto.Message) *xdsmatcherv3.Matcher_OnMatch {
	return &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{Action: extension("action", action)}}
}

// extension returns a message in the form that matchers contain.
func extension(name string, config proto.Message) *xdscorev3.TypedExtensionConfig {
	return &xdscorev3.TypedExtensionConfig{Name: name, TypedConfig: pack(config)}
}

// cidrRanges returns ranges in Envoy's form. A proxy before Envoy may write IPv4 addresses as IPv6 addresses
// (::ffff:192.0.2.1), so each IPv4 range is listed in both forms.
func cidrRanges(ranges []string) []*xdscorev3.CidrRange {
	var out []*xdscorev3.CidrRange
	add := func(address string, bits int) {
		out = append(out, &xdscorev3.CidrRange{AddressPrefix: address, PrefixLen: wrapperspb.UInt32(uint32(bits))})
	}
	for _, text := range ranges {
		r := netip.MustParsePrefix(text) // package policy has checked it
		add(r.Addr().String(), r.Bits())
		if r.Addr().Is4() {
			add("::ffff:"+r.Addr().String(), 96+r.Bits())
		}
	}
	return out
}

// aclResponse returns the configuration that replaces the answer if aclFilter denied the request. Answers of
// the backend or of other filters are not changed. It returns nil without acl, or if acl has no response.
func aclResponse(extras *ir.Extras) message {
	if extras.ACL == nil || !extras.ACL.Responds() {
		return nil
	}
	return &customv3.CustomResponse{CustomResponseMatcher: firstMatch(fieldMatcher(onMatcher(aclByRule(extras.ACL)),
		rbacMetadata("enforced_engine_result", ir.StringMatch{Value: "denied"}),
		rbacMetadata("enforced_effective_policy_id", ir.StringMatch{Kind: ir.StringPrefix, Value: aclPolicy}),
	))}
}

// aclByRule returns a matcher with an answer for each rule that denies, and an answer for addresses that no rule
// contains. An answer has the rule's name in the details for the access log, and in the header whose name is
// ACLResponse.BlockedBy. If BlockedBy is "", there is no such header. What Envoy answers itself has no matcher.
func aclByRule(acl *ir.ACL) *xdsmatcherv3.Matcher {
	var matchers []*xdsmatcherv3.Matcher_MatcherList_FieldMatcher
	known := map[string]bool{}
	add := func(response *ir.ACLResponse, policy, name string) {
		if response != nil && !known[policy] {
			known[policy] = true
			matchers = append(matchers, fieldMatcher(onMatch(localResponse(response, policy, name)),
				rbacMetadata("enforced_effective_policy_id", ir.StringMatch{Value: policy})))
		}
	}
	names := aclPolicyNames(acl)
	for i := range acl.Rules {
		if rule := &acl.Rules[i]; !rule.Allow {
			add(acl.ResponseOf(i), names[i], orUnnamed(rule.Name))
		}
	}
	add(acl.Response, aclNoRule, ir.ACLDefault)
	return firstMatch(matchers...)
}

// orUnnamed returns name, or ir.ACLUnnamed if name is "".
func orUnnamed(name string) string {
	if name == "" {
		return ir.ACLUnnamed
	}
	return name
}

// firstMatch returns a matcher that uses the first of the matchers whose predicate is true.
func firstMatch(matchers ...*xdsmatcherv3.Matcher_MatcherList_FieldMatcher) *xdsmatcherv3.Matcher {
	return &xdsmatcherv3.Matcher{MatcherType: &xdsmatcherv3.Matcher_MatcherList_{MatcherList: &xdsmatcherv3.Matcher_MatcherList{Matchers: matchers}}}
}

// fieldMatcher returns a matcher with an action for the requests that meet all of the given predicates. There must be
// at least one predicate.
func fieldMatcher(action *xdsmatcherv3.Matcher_OnMatch, predicates ...*xdsmatcherv3.Matcher_MatcherList_Predicate) *xdsmatcherv3.Matcher_MatcherList_FieldMatcher {
	predicate := predicates[0]
	if len(predicates) > 1 {
		predicate = &xdsmatcherv3.Matcher_MatcherList_Predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_AndMatcher{
			AndMatcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_PredicateList{Predicate: predicates},
		}}
	}
	return &xdsmatcherv3.Matcher_MatcherList_FieldMatcher{Predicate: predicate, OnMatch: action}
}

// rbacMetadata returns a predicate about the metadata that Envoy's rbac filters write for a request. The parameter
// key is the name of a value in this metadata, and the parameter match is the condition that the value must meet. If
// several rbac filters write the value, the last one counts.
func rbacMetadata(key string, match ir.StringMatch) *xdsmatcherv3.Matcher_MatcherList_Predicate {
	input := &networkv3.DynamicMetadataInput{Filter: rbacNamespace, Path: []*networkv3.DynamicMetadataInput_PathSegment{
		{Segment: &networkv3.DynamicMetadataInput_PathSegment_Key{Key: key}},
	}}
	value := &metadatav3.Metadata{Value: &envoymatcherv3.ValueMatcher{MatchPattern: &envoymatcherv3.ValueMatcher_StringMatch{StringMatch: stringMatcher(match)}}}
	return &xdsmatcherv3.Matcher_MatcherList_Predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
		SinglePredicate: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
			Input:   extension("metadata", input),
			Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{CustomMatch: extension("metadata", value)},
		},
	}}
}

// localResponse returns the answer to a denied request. The answer has no body, so that with a status such as 404 it
// does not reveal that a filter denied the request. If response.BlockedBy is not "", it is the name of a response
// header, and the parameter blockedBy is the value of this header. For the access log, the answer has response code
// details with the name of the ACL rule (the parameter policy). localResponse writes these details as text. Envoy
// could instead preserve the details of its rbac filter (preserve_response_code_details), but Envoy 1.40 then reads
// freed memory.
func localResponse(response *ir.ACLResponse, policy, blockedBy string) *localv3.LocalResponsePolicy {
	details := fmt.Sprintf("rbac_access_denied_matched_policy[%s]", strings.Join(strings.Fields(policy), "_"))
	answer := &localv3.LocalResponsePolicy{
		StatusCode:                wrapperspb.UInt32(response.Status),
		Body:                      &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{}},
		ResponseCodeDetailsAction: &localv3.LocalResponsePolicy_ResponseCodeDetails{ResponseCodeDetails: details},
	}
	headers := response.Headers
	if response.BlockedBy != "" {
		headers = append(slices.Clip(headers), ir.Header{Name: response.BlockedBy, Value: blockedBy})
	}
	written := map[string]bool{}
	for _, h := range headers {
		action := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
		if name := strings.ToLower(h.Name); written[name] { // the policy has it twice
			action = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		} else {
			written[name] = true
		}
		answer.ResponseHeadersToAdd = append(answer.ResponseHeadersToAdd, headerOption(h, action))
	}
	return answer
}

// checkACL rejects the values of extras.ACL that Envoy would reject.
func checkACL(c *checker, extras *ir.Extras) {
	if extras.ACL == nil {
		return
	}
	for i := range extras.ACL.Rules {
		c.headerValue(fmt.Sprintf("%s.rules[%d].name", ir.FieldACL.Path(), i), extras.ACL.Rules[i].Name)
	}
	if response := extras.ACL.Response; response != nil {
		at := ir.FieldACL.Path() + ".denyResponse"
		c.headers(at+".headers", ir.HeaderMods{Set: response.Headers})
		if response.BlockedBy != "" {
			c.changedName(at+".blockedByHeaderName", response.BlockedBy, false)
		}
	}
}
