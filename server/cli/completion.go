package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
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
