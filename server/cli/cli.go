// Package cli is gatefold's command line. It has a file for each command, and test scripts in testdata. It
// parses flags, calls package engine and prints the result. It also handles errors of the environment, such as
// an unreadable file.
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
	exitFine     = 0 // the command succeeded and found nothing wrong
	exitFindings = 1 // the command succeeded and found problems
	exitFailed   = 2 // the command failed: for example, wrong usage, an unreadable file or a port in use
)

// errFindings ends a command with exit code 1. The command has already printed the problems.
var errFindings = errors.New("findings")

// Main runs a command line and returns the exit code. args does not include the name of the program. The first
// SIGINT or SIGTERM ends the context of the command.
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

// shown returns a writer that passes text on to w, without control sequences that come from other people's texts
// (see package visible). If w is a terminal and NO_COLOR is not set, gatefold's own colors stay.
func shown(w io.Writer) io.Writer {
	writer := visible.NewWriter(w)
	writer.Color = useColor(isTerminal(w))
	return writer
}

// run executes a command and returns the exit code. It prints the error of the command to stderr, unless the
// error is errFindings.
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

// errorText returns the text of an error. If the error names the path of a file (fs.PathError), errorText escapes
// line ends and other invisible characters in this path, so that the path cannot begin a new line.
func errorText(err error) string {
	text := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		text = strings.ReplaceAll(text, path.Path, visible.Text(path.Path))
	}
	return text
}

// hurryTime is how long a command has to end after a second signal.
const hurryTime = 5 * time.Second

// sameSignal is the time after the first signal during which all further signals are ignored. One Ctrl-C can arrive
// twice, because make, timeout and shells also forward it to the program.
const sameSignal = 500 * time.Millisecond

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. After SIGINT, the cause of the context
// is engine.ErrInterrupted. Signals within sameSignal after the first signal are ignored. A later signal closes the
// channel that hurried(ctx) returns for this context. If the command is still running hurryTime later, the program
// exits. The caller must call the returned function at the end of the command.
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

// hurryKey is the context key for the channel that hurried returns.
type hurryKey struct{}

// hurried returns a channel that a second signal closes, to tell the command to stop waiting. It returns nil if
// the context is not from untilSignal.
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
		// Settings (markSetting) can come from environment variables and from gatefold.yaml.
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			warnOfUnused(cmd.ErrOrStderr(), cmd.Root())
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

// allCommands returns all commands below a command, at any depth.
func allCommands(parent *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, cmd := range parent.Commands() {
		all = append(append(all, cmd), allCommands(cmd)...)
	}
	return all
}

// noSuchCommand returns an error for an unknown command. The error suggests commands with a similar name.
// noSuchCommand returns nil if args is empty.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q%s; see 'gatefold --help'", args[0], didYouMean(cmd.SuggestionsFor(args[0])))
}

// exactly returns an argument check that requires as many arguments as there are names. The error lists the names
// of the missing arguments, or shows the first argument that is too many.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("%s needs %s; see '%s --help'", cmd.Name(), strings.Join(names[len(args):], " and "), cmd.CommandPath())
		}
		return noMore(cmd, args, len(names))
	}
}

// atLeastOne returns an argument check that requires at least one argument. The parameter name describes this
// argument in the error.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s; see '%s --help'", cmd.Name(), name, cmd.CommandPath())
		}
		return nil
	}
}

// atMost returns an argument check that allows at most n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return noMore(cmd, args, n) }
}

// noMore returns an error if args has more than n arguments, and nil otherwise. The error shows the first
// argument that is too many.
func noMore(cmd *cobra.Command, args []string, n int) error {
	if len(args) <= n {
		return nil
	}
	return fmt.Errorf("%s takes no further argument, but got %q; see '%s --help'", cmd.Name(), args[n], cmd.CommandPath())
}

// explainFlagError returns the error for an invalid flag, in one line that also says how to list all flags. For an
// unknown flag, the line suggests flags with a similar name.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var suggestion string
	if errors.As(err, &unknown) {
		suggestion = didYouMean(similarFlags(cmd.Flags(), unknown.GetSpecifiedName()))
	}
	return fmt.Errorf("%w%s; see '%s --help'", plainFlagError(err), suggestion, cmd.CommandPath())
}

// similarFlags returns the names of the flags that are similar to the parameter name. Each result begins with
// "--". Similarity is measured with cobra's function for commands.
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

// didYouMean returns a suggestion of names in brackets, or "" without names. It sorts names.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(names, " or "))
}
