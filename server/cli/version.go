package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"sigs.k8s.io/gateway-api/pkg/consts"
)

// version and commit are set by the linker: -X …/server/cli.version=v1.2.3.
var version, commit string

// envoyVersion is the Envoy version that gatefold is made for, and that the tests use.
const envoyVersion = "1.40.0"

// build describes this binary.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Go         string `json:"go"`
	GatewayAPI string `json:"gatewayAPI"`
	Envoy      string `json:"envoy"`
}

func versionCommand() *cobra.Command {
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of gatefold, and of the Gateway API and Envoy it is made for",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := readBuild()
			if format != formatText {
				return writeValue(cmd.OutOrStdout(), format, b)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "gatefold\t%s\ncommit\t%s\nGo\t%s\nGateway API\t%s\nEnvoy\t%s\n",
				b.Version, cmp.Or(b.Commit, "-"), b.Go, b.GatewayAPI, b.Envoy)
			return w.Flush()
		},
	}
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML)
	return cmd
}

// readBuild returns the description of this binary. The version and commit are those that the linker set. If
// the linker set none, they are those that Go recorded.
func readBuild() build {
	b := build{Version: version, Commit: commit, GatewayAPI: consts.BundleVersion, Envoy: envoyVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = setting.Value
		}
	}
	return b
}

// figure returns the metric gatefold_build_info. Its value is always 1, and its labels contain the version.
func (b build) figure() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatefold_build_info", Help: "What runs: always 1, with the version in the labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.Go},
	}, func() float64 { return 1 })
}
