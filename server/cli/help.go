package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is the heading of a group of flags in the help of a command.
type flagGroup string

const (
	ownFlags    flagGroup = "Flags"
	folderFlags flagGroup = "Flags of the folder"
	limitFlags  flagGroup = "Limits"
)

// groupAnnotation is the name of the annotation that has the group of a flag.
const groupAnnotation = "gatefold_group"

// groupFlags calls the function register, and adds the flags that register defines to the flags of a command.
// These flags become settings. In the help, a flag whose name begins with "max-" is in the group of
// limits, and any other is in the group of the folder.
func groupFlags(flags *pflag.FlagSet, register func(*pflag.FlagSet)) {
	added := pflag.NewFlagSet("", pflag.ContinueOnError)
	register(added)
	added.VisitAll(func(f *pflag.Flag) {
		group := folderFlags
		if strings.HasPrefix(f.Name, "max-") {
			group = limitFlags
		}
		annotate(f, groupAnnotation, string(group))
		markSetting(f)
		flags.AddFlag(f)
	})
}

// groupOf returns the group of a flag.
func groupOf(f *pflag.Flag) flagGroup {
	if group := f.Annotations[groupAnnotation]; len(group) > 0 {
		return flagGroup(group[0])
	}
	return ownFlags
}

// usage prints how to use a command, with the flags of the command by group.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nAvailable Commands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	for _, group := range []flagGroup{ownFlags, folderFlags, limitFlags} {
		printGroup(w, cmd, group)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	}
	return nil
}

// printGroup prints the flags of a command in one group. It prints nothing if there are none.
func printGroup(w io.Writer, cmd *cobra.Command, group flagGroup) {
	members := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if groupOf(f) == group {
			members.AddFlag(f)
		}
	})
	if members.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s:\n%s", group, members.FlagUsages())
	}
}

// helpCommand returns the command that prints the help of another command. The command fails if the other
// command is unknown.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		Args:  atMost(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, sub := range cmd.Root().Commands() {
				if len(args) == 0 && sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return noSuchCommand(cmd.Root(), rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
