package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

func validateCommand() *cobra.Command {
	var folder folderOptions
	var format outputFormat
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate DIR",
		Short: "Report every mistake in a folder at once",
		Long: "Report every mistake in a folder at once: YAML, schema, references, conflicts, what Envoy would refuse.\n" +
			"The exit code is 1 when there is an error; warnings alone give 0.",
		Args: exactly("the folder to validate"),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := readFolder(cmd.Context(), args[0], folder)
			if err != nil {
				return err
			}
			if err := printReport(cmd.OutOrStdout(), format, read); err != nil {
				return err
			}
			errors, warnings := tally(read.problems)
			if errors > 0 || warnings > 0 && strict {
				return errFindings
			}
			return nil
		},
	}
	folder.register(cmd.Flags())
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML, formatGitHub)
	cmd.Flags().BoolVar(&strict, "warnings-as-errors", false, "let a warning give exit code 1, too")
	return cmd
}

// reading is what a folder says at a cold start.
type reading struct {
	stats    store.Stats
	result   translate.Result
	problems []store.Problem
	// places finds where fields are written.
	places func([]store.Field) []store.Place
}

// readFolder takes a folder through store and translate, once.
func readFolder(ctx context.Context, dir string, o folderOptions) (reading, error) {
	both, err := newSteps(ctx, o, false)
	if err != nil {
		return reading{}, err
	}
	tree, err := watcher.Read(ctx, watcher.Options{Root: dir, Limits: o.tree})
	if err != nil {
		return reading{}, err
	}
	change := both.apply(tree)
	result := both.translator.Apply(change)
	return reading{change.Stats, result, both.located(change, result), both.store.Places}, nil
}

// report is validate's JSON: a contract.
type report struct {
	Files    int             `json:"files"`
	Objects  int             `json:"objects"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Problems []store.Problem `json:"problems"`
}

func printReport(w io.Writer, format outputFormat, read reading) error {
	switch format {
	case formatText:
		color := useColor(isTerminal(w))
		for _, p := range read.problems {
			fmt.Fprintln(w, p.Text(color))
		}
		_, err := fmt.Fprintln(w, summary(read.stats, read.problems))
		return err
	case formatGitHub:
		for _, p := range read.problems {
			fmt.Fprintln(w, annotation(p))
		}
		return nil
	}
	errors, warnings := tally(read.problems)
	return writeValue(w, format, report{
		Files: read.stats.Files, Objects: read.stats.Objects, Errors: errors, Warnings: warnings,
		Problems: append([]store.Problem{}, read.problems...),
	})
}

// summary is "3 files, 12 objects, 0 errors, 1 warning".
func summary(stats store.Stats, problems []store.Problem) string {
	errors, warnings := tally(problems)
	return fmt.Sprintf("%s, %s, %s, %s", count(stats.Files, "file"), count(stats.Objects, "object"),
		count(errors, "error"), count(warnings, "warning"))
}
