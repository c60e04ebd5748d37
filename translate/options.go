package translate

import (
	"cmp"
	"net/netip"

	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/route"
)

// Options are what translation depends on beside the objects.
type Options struct {
	// Bind are the IP addresses for Gateways that name none: all interfaces,
	// when empty 0.0.0.0.
	Bind []string
	// AddressPool has an address for each Gateway that names none, in place of
	// Bind; it is not valid for no pool.
	AddressPool netip.Prefix
	// Guard says which endpoints must not be used.
	Guard backend.Guard
	// WildcardNamespace is the word that stands for all namespaces in a label
	// reference (EP-10943); "all" when empty.
	WildcardNamespace string
	// Weighted turns the weights of routes on (EP-11466).
	Weighted bool
	// WeightScope says what the weight of a route is compared with; VirtualHost when
	// empty. It means nothing while weights are off.
	WeightScope WeightScope
	// TrustedHops is ir.Settings.TrustedHops of all ports.
	TrustedHops uint32
	// MaxDepth is how many routes may stand above each other; 32 when 0.
	MaxDepth int
	// MaxRoutes bounds the pairs of a rule and a candidate that are looked at
	// for one host; 200,000 when 0. A folder of few routes has a lower bound.
	MaxRoutes int
	// MaxCopies bounds what copies of matches in tables cost Envoy beyond four for each match, in
	// plain routes (docs/scale.md#copies-of-a-match); 50,000 when 0.
	MaxCopies int
	// SystemCA is where Envoy finds the certificates of authorities of the system that
	// it runs on; those of Debian, Alpine and Envoy's images when empty.
	SystemCA string
	// ExclusivePorts has Envoy refuse a port that another process listens on. Without
	// it two Envoys of one user share the port, and each gets a part of the requests.
	ExclusivePorts bool
}

// WeightScope says which rules the weight of a route goes before.
type WeightScope string

// The scopes. The first is that of EP-11466, and kgateway's.
const (
	VirtualHost WeightScope = "virtual-host" // all of lower weight for the same host
	Siblings    WeightScope = "siblings"     // those below the same match of a delegating rule
)

// maxDepth is the default of Options.MaxDepth (docs/design/routes.md).
const maxDepth = 32

// SystemCA is the default of Options.SystemCA.
const SystemCA = "/etc/ssl/certs/ca-certificates.crt"

// maxRoutes is the default of Options.MaxRoutes (docs/design/routes.md).
const maxRoutes = 200_000

// maxCopies is the default of Options.MaxCopies.
const maxCopies = 50_000

// withDefaults returns the options with the default of each that is not set.
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
