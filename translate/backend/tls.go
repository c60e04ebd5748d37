package backend

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// TLSPolicy is one BackendTLSPolicy after LowerTLS.
type TLSPolicy struct {
	Origin *ir.Origin
	// TLS is nil if the policy cannot be used, and Closed says why. Its backends then get no
	// requests, because clear text is not what the policy's owner wants.
	TLS    *ir.UpstreamTLS
	Closed string
	// Invalid is true if the policy is invalid by its schema. It closes its targets even if
	// other policies are in force there, because its settings are not known.
	Invalid bool
}

// TLSTarget has the effective policies for one Service or Backend.
type TLSTarget struct {
	// All is the policy of the ports that are not in Ports, nil for none. Ports are by name.
	All   *TLSPolicy
	Ports map[string]*TLSPolicy
}

// Of returns the policy of a port, nil for none.
func (t *TLSTarget) Of(port string) *TLSPolicy {
	if t.All != nil && t.All.Invalid {
		return t.All
	}
	if own := t.Ports[port]; own != nil {
		return own
	}
	return t.All
}

// In returns the effective policy for a target with this sectionName. "" is the whole object.
func (t *TLSTarget) In(section string) *TLSPolicy {
	if section == "" {
		return t.All
	}
	return t.Ports[section]
}

// Claim is a policy's claim on a section of its target.
type Claim struct {
	Policy  *TLSPolicy
	Section string
}

// Contest assigns each section to the first policy by tie, the conflict resolution order,
// whether it can be used or not. The policy of a port wins over the policy of the whole object
// (Gateway API, BackendTLSPolicySpec.targetRefs; GEP-713).
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

// sign returns 1 for true, else -1.
func sign(b bool) int {
	if b {
		return 1
	}
	return -1
}

// Apply configures TLS of a cluster, or closes the cluster if the policy cannot be used. client
// is Key.Client.
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

// closeCluster removes the endpoints of a cluster. Envoy then answers 503.
func closeCluster(cluster *ir.Cluster, why string) {
	cluster.Closed, cluster.Discovery, cluster.Endpoints = why, ir.Static, nil
}

// LowerTLS converts a spec, except for its CA certificates.
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
	if len(out.Names) == 0 { // the hostname counts when there are no others, and not beside them
		out.Names = []ir.PeerName{{Value: hostname}}
	}
	return out
}

// PortName returns the name of the Service port that a cluster is for, "" for none.
func PortName(service *corev1.Service, key Key) string { return servicePort(service, key).Name }
