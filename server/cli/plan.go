package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/translate/plan"
)

const formatMarkdown outputFormat = "markdown"

func planCommand() *cobra.Command {
	var folder folderOptions
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "plan OLD NEW",
		Short: "Report which requests change between two folders",
		Long: "Report which requests change between two folders: an example of each kind with both answers, and the rule, object\n" +
			"or field that is the reason; problems, policies, listeners, certificates, objects and Envoy resources that differ.\n" +
			"git:REVISION is the folder of the other argument as it is in that commit.\n" +
			"The first line is a summary. Nothing is applied. Both folders are read as from a cold start.\n" +
			"The exit code is 0 if nothing changes, 1 if something does, and 2 if that cannot be found out.\n" +
			"docs/json.md describes the JSON.",
		Example: "  gatefold plan ./main ./branch\n" +
			"  gatefold plan git:origin/main ./folder -o markdown >comment.md",
		Args: exactly("the folder before, or git:REVISION,", "the folder after"),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := planReport(cmd.Context(), args[0], args[1], folder)
			if err != nil {
				return err
			}
			if err := printPlan(cmd.OutOrStdout(), format, report); err != nil {
				return err
			}
			if report.Changes {
				return errFindings
			}
			return nil
		},
	}
	folder.register(cmd.Flags())
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML, formatMarkdown)
	return cmd
}

// planReport compares two folders, which are read at the same time.
func planReport(ctx context.Context, before, after string, o folderOptions) (*plan.Report, error) {
	places := [2]string{before, after}
	var sides [2]plan.Side
	var errs [2]error
	var readers sync.WaitGroup
	for i, place := range places {
		readers.Go(func() { sides[i], errs[i] = readSide(ctx, place, places[1-i], o) })
	}
	readers.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return nil, err
	}
	return plan.Compare(ctx, sides[0], sides[1])
}

// readSide reads a folder, or the folder of another argument as it is in a commit.
func readSide(ctx context.Context, place, other string, o folderOptions) (plan.Side, error) {
	dir := place
	if revision, isGit := strings.CutPrefix(place, gitPrefix); isGit {
		if strings.HasPrefix(other, gitPrefix) {
			other = "."
		}
		folder, err := checkOut(ctx, revision, other, o.tree)
		if err != nil {
			return plan.Side{}, err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		dir = folder
	}
	read, err := readFolder(ctx, dir, o)
	if err != nil {
		return plan.Side{}, err
	}
	return sideOf(read), nil
}

func sideOf(read reading) plan.Side {
	return plan.Side{
		View: read.Result.View(), Problems: read.Problems, Objects: read.Objects, Resources: read.Result.Delta, Places: read.Places,
	}
}

func printPlan(w io.Writer, format outputFormat, report *plan.Report) error {
	switch format {
	case formatText:
		_, err := w.Write(planText(report, useColor(isTerminal(w))))
		return err
	case formatMarkdown:
		_, err := fmt.Fprint(w, planMarkdown(report))
		return err
	}
	return writeValue(w, format, report)
}
