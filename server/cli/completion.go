package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/store/schema"
)

func completionCommand() *cobra.Command {
	shells := []string{"bash", "fish", "powershell", "zsh"}
	return &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print a script that completes gatefold's commands and flags in a shell",
		Example:   "  source <(gatefold completion bash)",
		ValidArgs: shells,
		Args:      exactly("a shell (" + strings.Join(shells, ", ") + ")"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			case "zsh":
				return root.GenZshCompletion(out)
			}
			return fmt.Errorf("unknown shell %q; known are %s", args[0], strings.Join(shells, ", "))
		},
	}
}

// completeArguments adds shell completion to a command. For an argument DIR it completes directories, unless
// the command also accepts FILE or already has a completion. For flags it adds the completions of
// completeFixed.
func completeArguments(cmd *cobra.Command) {
	if strings.Contains(cmd.Use, "DIR") && !strings.Contains(cmd.Use, "FILE") && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completeFolder
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete := completeFixed(f)
		if complete == nil {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // never: the command has the flag
		}
	})
}

// completeFolder proposes directories for the first argument, and nothing for further arguments.
func completeFolder(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeFixed returns the completion of values for the flags -o, --watch, --for and --…-dir. It returns nil for
// other flags.
func completeFixed(f *pflag.Flag) cobra.CompletionFunc {
	if format, is := f.Value.(*formatFlag); is {
		values := make([]cobra.Completion, len(format.known))
		for i, known := range format.known {
			values[i] = string(known)
		}
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	switch {
	case strings.HasSuffix(f.Name, "-dir"):
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case f.Name == "for":
		return cobra.FixedCompletions(schema.KgatewayNames(), cobra.ShellCompDirectiveNoFileComp)
	case f.Name == "watch":
		return cobra.FixedCompletions([]cobra.Completion{"auto", "inotify", "poll"}, cobra.ShellCompDirectiveNoFileComp)
	}
	return nil
}
