package translate

import (
	"cmp"
	"net/netip"

	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/route"
)

// Options are the settings of a Translator.
type Options struct {
	// Bind are the IP addresses of Gateways whose spec has no addresses, or has an entry without a value. The
	// default is 0.0.0.0: all interfaces.
	Bind []string
	// AddressPool is a network from which Gateways get free addresses: one for a spec without addresses, otherwise
	// one for each entry without a value. With a pool, Bind has no effect. The zero value means that there is no
	// pool.
	AddressPool netip.Prefix
	// Guard decides which endpoints must not be used.
	Guard backend.Guard
	// WildcardNamespace is the namespace that a reference by label uses to select routes of all namespaces
	// (EP-10943). The default is "all".
	WildcardNamespace string
	// Weighted enables the weights of routes (EP-11466).
	Weighted bool
	// WeightScope says which rules compete by the weights of their routes. The default is VirtualHost. Without
	// Weighted, WeightScope has no effect.
	WeightScope WeightScope
	// TrustedHops is the number of trusted proxies in front of Envoy, for all ports (ir.Settings.TrustedHops).
	TrustedHops uint32
	// MaxDepth is the largest number of routes in a chain of delegation, root and leaf included. 0 means 32.
	MaxDepth int
	// MaxRoutes limits the number of rules that delegation can create on one host. 0 means 200,000. In a folder
	// with few routes, the limit is lower than MaxRoutes: see budgetBase.
	MaxRoutes int
	// MaxCopies limits the total cost of copies: Envoy has a copy of each match in each virtual host of its route.
	// The unit is one plain route of Envoy. What is free does not count, for example four plain routes for each
	// match (docs/scale.md#copies-of-a-match). 0 means 50,000.
	MaxCopies int
	// SystemCA is the path of the file with CA certificates on the machine of Envoy. The default is the path in
	// Debian, in Alpine and in Envoy's images.
	SystemCA string
	// ExclusivePorts makes Envoy fail to bind a port that another process listens on. Without ExclusivePorts,
	// two Envoys of one user share the port, and each gets some of the requests.
	ExclusivePorts bool
	// Assume is for a folder that lacks objects which the real one has.
	Assume Assumptions `json:"-"`
}

// Assumptions are about objects that a folder lacks, because they are made elsewhere. With them, a Translator finds
// problems that these objects would uncover. Its resources are not for an Envoy.
type Assumptions struct {
	// Certificates: a Secret or ConfigMap that does not exist has the certificate that a listener refers to.
	Certificates bool
	// Classes: every GatewayClass belongs to gatefold.
	Classes bool
}

// WeightScope says which rules compete by weight: the weights of their routes decide the order of these rules.
type WeightScope string

// The scopes of weights. VirtualHost is the scope of EP-11466 and of kgateway.
const (
	VirtualHost WeightScope = "virtual-host" // all rules of a host
	Siblings    WeightScope = "siblings"     // the rules below one match of a delegating rule
)

// maxDepth is the default of Options.MaxDepth (docs/design/routes.md).
const maxDepth = 32

// SystemCA is the default of Options.SystemCA.
const SystemCA = "/etc/ssl/certs/ca-certificates.crt"

// maxRoutes is the default of Options.MaxRoutes (docs/design/routes.md).
const maxRoutes = 200_000

// maxCopies is the default of Options.MaxCopies.
const maxCopies = 50_000

// withDefaults returns the options with defaults for fields that are not set.
func (options Options) withDefaults() Options {
	if len(options.Bind) == 0 {
		options.Bind = []string{"0.0.0.0"}
	}
	options.WildcardNamespace = cmp.Or(options.WildcardNamespace, route.AllNamespaces)
	options.MaxDepth = cmp.Or(options.MaxDepth, maxDepth)
	options.MaxRoutes = cmp.Or(options.MaxRoutes, maxRoutes)
	options.SystemCA = cmp.Or(options.SystemCA, SystemCA)
	options.MaxCopies = cmp.Or(options.MaxCopies, maxCopies)
	return options
}
