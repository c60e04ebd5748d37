package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page of all commands",
		Example: "  gatefold man > /usr/local/share/man/man1/gatefold.1",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := cmd.Root()
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, ".TH GATEFOLD 1 \"\" %q \"gatefold\"\n", root.Version)
			fmt.Fprintf(w, ".SH NAME\ngatefold \\- %s\n.SH SYNOPSIS\n.B gatefold\nCOMMAND [ARGUMENTS] [FLAGS]\n", roff(root.Short))
			fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", roff(root.Long))
			for _, sub := range allCommands(root) {
				if sub.IsAvailableCommand() {
					manOf(w, sub)
				}
			}
			fmt.Fprintf(w, ".SH FILES\n.TP\n.I gatefold.yaml\nvalues of flags; see --config\n"+
				".SH SEE ALSO\nhttps://github.com/gatefold/gatefold/tree/main/docs\n")
			return nil
		},
	}
}

// manOf writes the section of the manual page about a command.
func manOf(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, ".SH %s\n.B %s\n.PP\n.nf\n%s\n.fi\n", roff(strings.ToUpper(cmd.CommandPath())), roff(cmd.UseLine()), roff(cmp.Or(cmd.Long, cmd.Short)))
	if cmd.HasExample() {
		fmt.Fprintf(w, ".PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+kind)), roff(usage))
	})
}

// roff escapes a text for a manual page, so that no line of the text is a command of the formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
