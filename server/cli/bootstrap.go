package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/wholefile"
)

// The default addresses are on loopback, see docs/design/commands.md.
const (
	defaultXDSAddress   = "127.0.0.1:18000"
	defaultAdminAddress = "127.0.0.1:19000"
)

// allGateways is the default of node.cluster. A name without "/" means all Gateways (docs/design/gateways.md).
const allGateways = "gatefold"

// gatewayName matches NAMESPACE/NAME.
var gatewayName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

func bootstrapCommand() *cobra.Command {
	var options envoy.Options
	var path string
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
			if err := nameSecrets(&options.TLS, path); err != nil {
				return err
			}
			options.XDSAddress = reachable(options.XDSAddress)
			text, err := envoy.Bootstrap(options)
			if err != nil {
				return err
			}
			if path != "" {
				return errors.Join(writeSecrets(options.TLS), writeFile(path, text))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.XDSAddress, "xds-address", defaultXDSAddress, "where gatefold serves xDS: HOST:PORT or unix:/path")
	markSetting(flags.Lookup("xds-address"))
	flags.StringVar(&options.AdminAddress, "envoy-admin-address", envoy.DefaultAdminAddress, "IP:PORT or unix:/path of Envoy's own admin interface")
	flags.StringVar(&options.NodeID, "node-id", "", "name of this Envoy in gatefold's status (default the host's name)")
	flags.StringVar(&options.NodeCluster, "node-cluster", "", "a name without / in place of NAMESPACE/NAME: all Gateways (default \""+allGateways+"\")")
	flags.StringVar(&options.Stage, "stage", "", "canary for an Envoy that gets each revision before the others of its Gateway")
	flags.StringVar(&options.TLS.Cert, "tls-cert", "", "certificate that the Envoy shows to gatefold (PEM); with --write, which puts two files for Envoy beside its own")
	flags.StringVar(&options.TLS.Key, "tls-key", "", "private key of --tls-cert (PEM)")
	flags.StringVar(&options.TLS.CA, "tls-ca", "", "CA certificates that sign gatefold's certificate (PEM)")
	flags.StringVar(&options.TLS.ServerName, "tls-server-name", "", "name that gatefold's certificate must hold: IP address, DNS name or URI (default the host of --xds-address)")
	flags.StringVar(&path, "write", "", "write to this file, whole or not at all, instead of standard output")
	return cmd
}

// nameSecrets checks the TLS options and makes their paths absolute. The parameter path is the bootstrap file.
// nameSecrets also chooses the paths of two SDS files next to it: one for the Secret with the certificate, and one
// for the Secret with the CA. Envoy reloads changed certificates only if they are named in SDS files. Without TLS,
// nameSecrets does nothing. It returns an error if a flag is missing, or if the working directory is not known.
func nameSecrets(tls *envoy.TLS, path string) error {
	if *tls == (envoy.TLS{}) {
		return nil
	}
	if tls.Cert == "" || tls.Key == "" || tls.CA == "" {
		return errors.New("--tls-cert, --tls-key and --tls-ca go together")
	}
	if path == "" {
		return errors.New("--tls-cert needs --write FILE: Envoy follows certificates that files beside FILE tell it of")
	}
	base := strings.TrimSuffix(path, filepath.Ext(path))
	tls.CertSecret, tls.CASecret = base+".certificate.json", base+".authority.json"
	for _, file := range []*string{&tls.Cert, &tls.Key, &tls.CA, &tls.CertSecret, &tls.CASecret} {
		absolute, err := filepath.Abs(*file)
		if err != nil {
			return err
		}
		*file = absolute
	}
	return nil
}

// writeSecrets writes the two files with SDS Secrets that name Envoy's certificates (see nameSecrets). Without
// TLS it does nothing. It returns an error if a file cannot be written.
func writeSecrets(tls envoy.TLS) error {
	if tls == (envoy.TLS{}) {
		return nil
	}
	certificate, authority := tls.Secrets()
	return errors.Join(writeFile(tls.CertSecret, certificate), writeFile(tls.CASecret, authority))
}

// writeFile replaces the file at path with one rename, so that no reader sees an incomplete file. The error
// names the path.
func writeFile(path string, text []byte) error {
	if err := wholefile.Replace(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, rootCause(err))
	}
	return nil
}

// nameNode sets node.id and node.cluster of the Envoy, unless a flag has set them. A Gateway in args becomes
// node.cluster; without one, node.cluster is allGateways. node.id becomes the name of this machine. It returns
// an error if the Gateway is invalid, if both a Gateway and --node-cluster are given, or if the name of this
// machine is not known.
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
