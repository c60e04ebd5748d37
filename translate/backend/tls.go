package backend

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// TLSPolicy is one BackendTLSPolicy with the settings that LowerTLS returns.
type TLSPolicy struct {
	Origin *ir.Origin
	// TLS is nil if the policy cannot be used. Closed is then the reason. The backends of a policy that cannot be
	// used get no requests, because the policy's owner does not want requests in clear text.
	TLS    *ir.UpstreamTLS
	Closed string
	// Invalid is true if the policy is invalid by its schema. The targets of an invalid policy fail closed even if
	// they have other policies, because the settings of the invalid policy are not known.
	Invalid bool
}

// TLSTarget has the policies in force for one Service or Backend.
type TLSTarget struct {
	// All is the policy of the whole object. It is nil if there is none. Ports has the policies of single ports, by
	// port name. The method Of decides between All and Ports.
	All   *TLSPolicy
	Ports map[string]*TLSPolicy
}

// Of returns the policy that applies to a port of the target, or nil if there is none. The parameter port is the name
// of the port. The port's own policy has precedence over the policy of the whole object, unless the policy of the
// whole object is invalid.
func (t *TLSTarget) Of(port string) *TLSPolicy {
	if t.All != nil && t.All.Invalid {
		return t.All
	}
	if own := t.Ports[port]; own != nil {
		return own
	}
	return t.All
}

// In returns the policy that got a section of the target (see Contest), or nil if there is none. The parameter
// section is a sectionName, or "" for the whole object.
func (t *TLSTarget) In(section string) *TLSPolicy {
	if section == "" {
		return t.All
	}
	return t.Ports[section]
}

// Claim is the request of one BackendTLSPolicy to apply to one section of its target. Section is "" for the whole
// object.
type Claim struct {
	Policy  *TLSPolicy
	Section string
}

// Contest decides which BackendTLSPolicy gets each section of a target. It sorts the claims, and gives each section
// to the first policy that claims it. Invalid policies come first, because their targets must fail closed (see
// TLSPolicy.Invalid). Within the invalid policies, and within the others, the function tie compares two policies by
// the conflict resolution order. The first policy gets the section even if it cannot be used: no other policy
// replaces it (Gateway API, BackendTLSPolicySpec.targetRefs; GEP-713). TLSTarget.Of says which policy applies to a
// port.
func Contest(claims []Claim, tie func(a, b *ir.Origin) int) *TLSTarget {
	claims = slices.Clone(claims)
	slices.SortStableFunc(claims, func(a, b Claim) int {
		if a.Policy.Invalid != b.Policy.Invalid {
			return sign(b.Policy.Invalid)
		}
		return tie(a.Policy.Origin, b.Policy.Origin)
	})
	out := &TLSTarget{Ports: map[string]*TLSPolicy{}}
	for _, claim := range claims {
		switch {
		case out.In(claim.Section) != nil:
		case claim.Section == "":
			out.All = claim.Policy
		default:
			out.Ports[claim.Section] = claim.Policy
		}
	}
	return out
}

// sign returns 1 for true and -1 for false.
func sign(b bool) int {
	if b {
		return 1
	}
	return -1
}

// Apply makes Envoy use TLS for a cluster, with the settings of the policy. If the policy cannot be used, Apply
// closes the cluster instead (closeCluster). The parameter client is "namespace/name" of the Secret with the
// certificate that Envoy presents, or "" for no certificate (see Key.Client).
func (p *TLSPolicy) Apply(cluster *ir.Cluster, client string) {
	cluster.Objects = append(cluster.Objects, p.Origin.Key)
	if p.TLS != nil {
		tls := *p.TLS
		cluster.Objects = append(cluster.Objects, tls.Authorities...)
		if namespace, name, shown := strings.Cut(client, "/"); shown {
			tls.Client = manifest.Key{Kind: "Secret", Namespace: namespace, Name: name}
			cluster.Objects = append(cluster.Objects, tls.Client)
		}
		cluster.TLS = &tls
		return
	}
	closeCluster(cluster, p.Closed)
}

// closeCluster removes the endpoints of a cluster, so that Envoy answers 503. The parameter why is the reason,
// as text.
func closeCluster(cluster *ir.Cluster, why string) {
	cluster.Closed, cluster.Discovery, cluster.Endpoints = why, ir.Static, nil
}

// LowerTLS converts the hostname and the accepted names of a spec. If the spec has no subjectAltNames, the hostname
// is the only accepted name. The caller adds the CA certificates.
func LowerTLS(spec *gwv1.BackendTLSPolicySpec) *ir.UpstreamTLS {
	hostname := strings.ToLower(string(spec.Validation.Hostname))
	out := &ir.UpstreamTLS{Hostname: hostname}
	for _, name := range spec.Validation.SubjectAltNames {
		if name.Type == gwv1.URISubjectAltNameType {
			out.Names = append(out.Names, ir.PeerName{URI: true, Value: string(name.URI)})
		} else {
			out.Names = append(out.Names, ir.PeerName{Value: strings.ToLower(string(name.Hostname))})
		}
	}
	if len(out.Names) == 0 { // the hostname is compared only if the spec has no other names
		out.Names = []ir.PeerName{{Value: hostname}}
	}
	return out
}

// PortName returns the name of the Service port that a cluster is for. It returns "" if the port has no name.
func PortName(service *corev1.Service, key Key) string { return servicePort(service, key).Name }
