package engine

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// sectionsFolder has a rule, a listener and a port with names.
const sectionsFolder = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg, labels: {team: a}},
  spec: {gatewayClassName: gatefold, listeners: [{name: web, protocol: HTTP, port: 8080}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, labels: {team: a}}, spec: {parentRefs: [{name: eg}], hostnames: [kept.test],
  rules: [{name: rule, backendRefs: [{name: s, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{name: http, port: 80}]}}
---
`

// sectionPolicies are policies that protect, each with the name of the section that it is for, and its object.
func sectionPolicies() map[string]struct{ text, section, kind string } {
	traffic := func(spec string) string {
		return "{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: p}, spec: {" + spec + "}}"
	}
	const acl, labels = ", acl: {defaultAction: deny}", "matchLabels: {team: a}, sectionName: "
	return map[string]struct{ text, section, kind string }{
		"a rule":                 {traffic("targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: rule}]" + acl), "rule", "HTTPRoute"},
		"a rule by a label":      {traffic("targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, " + labels + "rule}]" + acl), "rule", "HTTPRoute"},
		"a listener":             {traffic("targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: eg, sectionName: web}]" + acl), "web", "Gateway"},
		"a port":                 {"{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, metadata: {name: p}, spec: {targetRefs: [{group: '', kind: Service, name: s, sectionName: http}], validation: {hostname: s.test, wellKnownCACertificates: System}}}", "http", "Service"},
		"a rule, for a timeout":  {traffic("targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: rule}], timeouts: {request: 1s}"), "rule", ""},
		"another rule":           {traffic("targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]" + acl), "rule", ""},
		"a rule of other labels": {traffic("targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {team: b}, sectionName: rule}]" + acl), "rule", ""},
	}
}

// An edit that takes away a section which a policy protects is held, until the policy names another one. Both in one edit
// take effect.
func TestSectionsInUse(t *testing.T) {
	for name, test := range sectionPolicies() {
		t.Run(name, func(t *testing.T) {
			renamed := strings.NewReplacer("name: "+test.section+",", "name: renamed,", "sectionName: "+test.section, "sectionName: renamed")
			folder, policy := renamed.Replace(sectionsFolder), renamed.Replace(test.text)
			held := func(p *pipeline) string {
				var kinds []string
				for key, h := range p.reader.store.Held() {
					if h.Problems[0].Code != sectionInUse {
						t.Errorf("%s: %v", key, h.Problems)
					}
					kinds = append(kinds, key.Kind)
				}
				return strings.Join(kinds, " ")
			}
			p, _, _ := newTestPipeline(t)
			p.reload(tree(sectionsFolder + test.text))
			p.reload(tree(folder + test.text))
			if got := held(p); got != test.kind {
				t.Errorf("held: %q, want %q", got, test.kind)
			}
			p.reload(tree(folder + policy))
			if got := held(p); got != "" {
				t.Errorf("with the new name in the policy: held is %q", got)
			}
			p.reload(tree(sectionsFolder + test.text))
			if got := held(p); got != "" {
				t.Errorf("both in one edit: held is %q", got)
			}
			p.reload(tree(folder))
			if got := held(p); got != "" || p.reader.store.Served(manifest.Key{Group: "gateway.kgateway.dev", Kind: "TrafficPolicy", Namespace: "default", Name: "p"}) != nil {
				t.Errorf("without the policy: held is %q", got)
			}
		})
	}
}
