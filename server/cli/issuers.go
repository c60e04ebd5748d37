package cli

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/oidc"
)

// issuerOptions are the flags for requests to OpenID providers.
type issuerOptions struct {
	networks []string
}

func (o *issuerOptions) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.networks, "issuer-networks", nil,
		"networks such as 10.0.0.0/8 in which issuers of GatewayExtensions (oauth2.issuerURI) may be\n"+
			"asked for their endpoints, beside public addresses; may be repeated")
}

// of returns the options for package oidc, from the flags. It returns an error if a network in the flags is
// invalid.
func (o *issuerOptions) of() (to oidc.Options, err error) {
	for _, text := range o.networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return to, fmt.Errorf("--issuer-networks %q: must be a network such as 10.0.0.0/8, or an address such as 10.1.2.3/32", text)
		}
		to.Networks = append(to.Networks, network.Masked())
	}
	return to, nil
}
