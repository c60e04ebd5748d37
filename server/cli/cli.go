// Package cli is gatefold's command line: a file per command, and scripts under
// testdata that run them. It reads flags, has package engine do the work, prints what comes
// of it, and is the one place where errors of the surroundings are handled.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store/visible"
)

// The exit codes of every command (docs/design/commands.md).
const (
	exitFine     = 0 // it was done, and nothing is wrong
	exitFindings = 1 // it was done, and something was found
	exitFailed   = 2 // it could not be done: misuse, unreadable, port in use
)

// errFindings ends a command with exit code 1; what was found is printed already.
var errFindings = errors.New("findings")

// Main runs one command line, without the program's name, and returns the exit code. SIGINT and
// SIGTERM shut a running command down.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	stdout, stderr = shown(stdout), shown(stderr)
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return run(ctx, root, stderr)
}

// shown returns a writer to w that removes control sequences in text from others, see package
// visible. On a terminal it keeps gatefold's own colors.
func shown(w io.Writer) io.Writer {
	writer := visible.NewWriter(w)
	writer.Color = useColor(isTerminal(w))
	return writer
}

// run executes a command and prints its error.
func run(ctx context.Context, root *cobra.Command, stderr io.Writer) int {
	switch err := execute(ctx, root); {
	case err == nil:
		return exitFine
	case errors.Is(err, errFindings):
		return exitFindings
	default:
		fmt.Fprintf(stderr, "gatefold: %s\n", errorText(err))
		return exitFailed
	}
}

// errorText returns the text of an error. The path of a file may contain line ends; these must not
// begin a new line.
func errorText(err error) string {
	text := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		text = strings.ReplaceAll(text, path.Path, visible.Text(path.Path))
	}
	return text
}

// hurryTime is what a command has to end after a second signal.
const hurryTime = 5 * time.Second

// sameSignal is how long after the first signal others count as the same one: make, timeout
// and shells pass on what the terminal has sent to the program already.
const sameSignal = 500 * time.Millisecond

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. A second signal, later
// than sameSignal, closes the channel of hurried. It ends the program if the command does not end.
func untilSignal() (context.Context, func()) {
	hurry := make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), hurryKey{}, (<-chan struct{})(hurry)))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			if s == os.Interrupt {
				cancel(engine.ErrInterrupted)
			}
			cancel(nil)
		case <-over:
			return
		}
		for first := time.Now(); time.Since(first) < sameSignal; {
			select {
			case <-signals:
			case <-over:
				return
			}
		}
		close(hurry)
		select {
		case <-time.After(hurryTime):
			os.Exit(exitFailed)
		case <-over:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	}
}

type hurryKey struct{}

// hurried returns a channel that a second signal closes: the command should stop waiting. For a
// context that untilSignal did not make it is nil.
func hurried(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gatefold",
		Short: "A gateway without a cluster: Gateway API YAML in a folder, Envoy in front",
		Long: "Gatefold watches a folder of Gateway API YAML and keeps Envoy configured by it over xDS.\n" +
			"Exit codes: 0 success, 1 problems found, 2 usage or runtime error.",
		Args:                       noSuchCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		// Every flag of every command can come from the environment, many from gatefold.yaml.
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			warnOfMisspelt(cmd.ErrOrStderr(), cmd.Root())
			if err := applyEnvironment(cmd.Flags()); err != nil {
				return err
			}
			return applySettings(cmd, args)
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Version:           readBuild().Version,
	}
	root.SetVersionTemplate("gatefold {{.Version}}\n")
	root.SetUsageFunc(usage)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		bootstrapCommand(),
		completionCommand(),
		envoyCommand(),
		explainCommand(),
		treeCommand(),
		healthcheckCommand(),
		lspCommand(),
		manCommand(),
		planCommand(),
		reloadCommand(),
		schemaCommand(),
		serveCommand(),
		statusCommand(),
		testCommand(),
		translateCommand(),
		validateCommand(),
		hashCommand(),
		importCommand(),
		initCommand(),
		versionCommand(),
	)
	root.SetFlagErrorFunc(explainFlagError)
	for _, cmd := range allCommands(root) {
		addConfigFlag(cmd.Flags())
		describeEnvironment(cmd.Flags())
		completeArguments(cmd)
	}
	return root
}

// allCommands returns the commands below a command, and those below them.
func allCommands(parent *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, cmd := range parent.Commands() {
		all = append(append(all, cmd), allCommands(cmd)...)
	}
	return all
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q%s; see 'gatefold --help'", args[0], didYouMean(cmd.SuggestionsFor(args[0])))
}

// exactly returns the rule for a command with exactly these arguments. Its error names them.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("%s needs %s; see '%s --help'", cmd.Name(), strings.Join(names[len(args):], " and "), cmd.CommandPath())
		}
		return noMore(cmd, args, len(names))
	}
}

// atLeastOne returns the rule for a command with one argument or more.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s; see '%s --help'", cmd.Name(), name, cmd.CommandPath())
		}
		return nil
	}
}

// atMost returns the rule for a command with at most n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return noMore(cmd, args, n) }
}

func noMore(cmd *cobra.Command, args []string, n int) error {
	if len(args) <= n {
		return nil
	}
	return fmt.Errorf("%s takes no further argument, but got %q; see '%s --help'", cmd.Name(), args[n], cmd.CommandPath())
}

// explainFlagError adds to an error the flag that was probably meant, and where flags are listed.
// The result is one line.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var suggestion string
	if errors.As(err, &unknown) {
		suggestion = didYouMean(similarFlags(cmd.Flags(), unknown.GetSpecifiedName()))
	}
	return fmt.Errorf("%w%s; see '%s --help'", plainFlagError(err), suggestion, cmd.CommandPath())
}

// similarFlags returns the flags with names similar to name. It uses cobra's measure for commands.
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
