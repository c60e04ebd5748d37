// Package cli is gatefold's command line: a file per command, and scripts under
// testdata that run them. It is the one package that knows all four steps of
// the pipeline, and the one place where errors of the surroundings are handled.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes of every command (design section 9).
const (
	exitFine     = 0 // it was done, and nothing is wrong
	exitFindings = 1 // it was done, and something was found
	exitFailed   = 2 // it could not be done: misuse, unreadable, port in use
)

// errFindings ends a command with exit code 1; what was found is printed already.
var errFindings = errors.New("findings")

// Main runs one command line, without the program's name, and gives the exit
// code. SIGINT and SIGTERM end a running command in good order.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitFine
	case errors.Is(err, errFindings):
		return exitFindings
	default:
		fmt.Fprintf(stderr, "gatefold: %v\n", err)
		return exitFailed
	}
}

// errInterrupted is the cause of the end by SIGINT: a person at a terminal.
var errInterrupted = errors.New("interrupted")

// untilSignal gives a context that ends with the first SIGINT or SIGTERM. After it they
// do what they do to any program.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s == os.Interrupt {
				cancel(errInterrupted)
			}
			cancel(nil)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gatefold",
		Short: "A gateway without a cluster: Gateway API YAML in a folder, Envoy in front",
		Long: "Gatefold watches a folder of Gateway API YAML and keeps Envoy configured by it over xDS.\n" +
			"Exit codes: 0 fine, 1 something was found, 2 it could not be done.",
		Args:                       noSuchCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		// Every flag of every command can come from the environment.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applyEnvironment(cmd.Flags()) },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(
		bootstrapCommand(),
		completionCommand(),
		explainCommand(),
		treeCommand(),
		healthcheckCommand(),
		reloadCommand(),
		serveCommand(),
		statusCommand(),
		translateCommand(),
		validateCommand(),
		versionCommand(),
	)
	root.SetFlagErrorFunc(explainFlagError)
	for _, cmd := range root.Commands() {
		describeEnvironment(cmd.Flags())
	}
	return root
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q%s; see 'gatefold --help'", args[0], didYouMean(cmd.SuggestionsFor(args[0])))
}

// exactly is the rule for a command's arguments, told in one line by their names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("%s needs %s; see '%s --help'", cmd.Name(), strings.Join(names[len(args):], " and "), cmd.CommandPath())
		}
		return noMore(cmd, args, len(names))
	}
}

// atMost allows n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return noMore(cmd, args, n) }
}

func noMore(cmd *cobra.Command, args []string, n int) error {
	if len(args) <= n {
		return nil
	}
	return fmt.Errorf("%s takes no further argument, but got %q; see '%s --help'", cmd.Name(), args[n], cmd.CommandPath())
}

// explainFlagError adds the flag that was probably meant and where the flags
// are listed, in one line.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var suggestion string
	if errors.As(err, &unknown) {
		suggestion = didYouMean(similarFlags(cmd.Flags(), unknown.GetSpecifiedName()))
	}
	return fmt.Errorf("%w%s; see '%s --help'", err, suggestion, cmd.CommandPath())
}

// similarFlags measures as cobra does for commands: a flag is a command's name here.
func similarFlags(flags *pflag.FlagSet, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	flags.VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	similar := names.SuggestionsFor(name)
	for i := range similar {
		similar[i] = "--" + similar[i]
	}
	return similar
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(names, " or "))
}

// environmentNames are the variables that stand for a flag, the first one set
// counts: GATEFOLD_XDS_ADDRESS for --xds-address, and what kgateway calls it.
func environmentNames(flag string) []string {
	names := []string{"GATEFOLD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
	switch flag {
	case "envoy": // GATEFOLD_ENVOY is envoy/get-envoy's: the path of a binary
		names = []string{"GATEFOLD_SERVE_ENVOY"}
	case "weighted-route-precedence": // EP-11466
		names = append(names, "KGW_WEIGHTED_ROUTE_PRECEDENCE")
	case "delegation-wildcard-namespace": // EP-10943
		names = append(names, "DELEGATION_WILDCARD_NAMESPACE")
	}
	return names
}

// describeEnvironment names each flag's variables in the help.
func describeEnvironment(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " [$" + strings.Join(environmentNames(f.Name), ", $") + "]" })
}

// applyEnvironment sets the flags that are not on the command line and whose
// variable is set. An empty variable counts as not set.
func applyEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		names := environmentNames(f.Name)
		set := slices.IndexFunc(names, func(name string) bool { return os.Getenv(name) != "" })
		if f.Changed || set < 0 || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, os.Getenv(names[set])); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", names[set], err))
		}
	})
	return errors.Join(errs...)
}
