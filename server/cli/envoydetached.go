package cli

import (
	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/host"
)

// envoyDetached returns the first arguments of the command line that turns gatefold into an Envoy (see
// host.RunDetached).
func envoyDetached() []string { return []string{"envoy", "run-detached"} }

// envoyDetachedCommand returns the internal command `envoy run-detached PATH ARGUMENTS…`.
func envoyDetachedCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "run-detached",
		Short:              "Become an Envoy that outlives its parent; without arguments, tell whether that is possible",
		Hidden:             true,
		DisableFlagParsing: true,
		PersistentPreRunE:  func(*cobra.Command, []string) error { return nil }, // it has no flags
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return host.CheckDetached()
			}
			return host.RunDetached(args[0], args)
		},
	}
}
