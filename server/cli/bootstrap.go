package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/envoy"
)

// The addresses of design section 9, on loopback.
const (
	defaultXDSAddress   = "127.0.0.1:18000"
	defaultAdminAddress = "127.0.0.1:19000"
)

// allGateways is the default of node.cluster: a name without "/" asks for every
// Gateway (design section 4).
const allGateways = "gatefold"

// gatewayName is what a NAMESPACE/NAME looks like.
var gatewayName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

func bootstrapCommand() *cobra.Command {
	var options envoy.Options
	cmd := &cobra.Command{
		Use:   "bootstrap [NAMESPACE/NAME]",
		Short: "Print the configuration file with which an Envoy finds gatefold",
		Long: "Print the configuration file with which an Envoy finds gatefold and serves one Gateway,\n" +
			"or all of them when none is named.",
		Example: "  gatefold bootstrap default/eg > envoy.yaml && envoy -c envoy.yaml",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := nameNode(&options, args); err != nil {
				return err
			}
			text, err := envoy.Bootstrap(options)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.XDSAddress, "xds-address", defaultXDSAddress, "where gatefold serves xDS: HOST:PORT or unix:/path")
	flags.StringVar(&options.AdminAddress, "envoy-admin-address", envoy.DefaultAdminAddress, "IP:PORT of Envoy's own admin interface")
	flags.StringVar(&options.NodeID, "node-id", "", "name of this Envoy in gatefold's status (default the host's name)")
	flags.StringVar(&options.NodeCluster, "node-cluster", "", "a name without / in place of NAMESPACE/NAME: all Gateways (default \""+allGateways+"\")")
	return cmd
}

// nameNode fills in who the Envoy is.
func nameNode(options *envoy.Options, args []string) error {
	switch {
	case len(args) == 1 && options.NodeCluster != "":
		return errors.New("a Gateway and --node-cluster exclude each other")
	case len(args) == 1 && !gatewayName.MatchString(args[0]):
		return fmt.Errorf("%q is not the NAMESPACE/NAME of a Gateway, such as default/eg", args[0])
	case len(args) == 1:
		options.NodeCluster = args[0]
	case options.NodeCluster == "":
		options.NodeCluster = allGateways
	}
	if options.NodeID != "" {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this Envoy by --node-id: %w", err)
	}
	options.NodeID = host
	return nil
}
