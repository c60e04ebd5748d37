package translate

import (
	"cmp"
	"net/netip"

	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/route"
)

// Options are the inputs of translation other than the objects.
type Options struct {
	// Bind are the IP addresses of Gateways that name none: all interfaces, or 0.0.0.0 if it is
	// empty.
	Bind []string
	// AddressPool, instead of Bind, has an address for each Gateway that names none; the zero
	// value means no pool.
	AddressPool netip.Prefix
	// Guard decides which endpoints must not be used.
	Guard backend.Guard
	// WildcardNamespace is the word for all namespaces in a reference by label (EP-10943); the
	// default is "all".
	WildcardNamespace string
	// Weighted turns the weights of routes on (EP-11466).
	Weighted bool
	// WeightScope says which rules the weight of a route orders; the default is VirtualHost. It
	// has no effect while weights are off.
	WeightScope WeightScope
	// TrustedHops is ir.Settings.TrustedHops of all ports.
	TrustedHops uint32
	// MaxDepth is the longest chain of delegated routes; 0 means 32.
	MaxDepth int
	// MaxRoutes limits the pairs of a rule and a candidate that are checked for one host; 0
	// means 200,000. A small folder has a lower limit.
	MaxRoutes int
	// MaxCopies limits the cost in Envoy, in plain routes, of the copies of matches beyond four
	// for each match (docs/scale.md#copies-of-a-match); 0 means 50,000.
	MaxCopies int
	// SystemCA is the path of the CA certificates of Envoy's system; the default are the paths
	// of Debian, Alpine and Envoy's images.
	SystemCA string
	// ExclusivePorts makes Envoy fail to bind a port that another process listens on. Without
	// it two Envoys of one user share the port, and each gets a part of the requests.
	ExclusivePorts bool
}

// WeightScope is the set of rules that the weight of a route orders.
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

// withDefaults returns the options with defaults for those that are not set.
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
