package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store/visible"
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
			if report.Note != "" && format != formatMarkdown {
				fmt.Fprintln(cmd.ErrOrStderr(), "gatefold:", report.Note)
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

// planned is a plan, and what is to be said of how it came about.
type planned struct {
	*plan.Report
	// Note says which side was not there; "" if both were.
	Note string `json:"note,omitempty"`

	// shared are the ports of several Gateways, on either side.
	shared map[uint32]bool
}

// planReport compares two folders, which are read at the same time.
func planReport(ctx context.Context, before, after string, o folderOptions) (*planned, error) {
	places := [2]string{before, after}
	var sides [2]plan.Side
	var notes [2]string
	var errs [2]error
	var readers sync.WaitGroup
	for i, place := range places {
		readers.Go(func() { sides[i], notes[i], errs[i] = readSide(ctx, place, places[1-i], o) })
	}
	readers.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return nil, err
	}
	report, err := plan.Compare(ctx, sides[0], sides[1])
	return &planned{Report: report, Note: cmp.Or(notes[0], notes[1]), shared: sharedPorts(sides)}, err
}

// sharedPorts returns the ports on which several Gateways of a side listen: a question about one of
// them names its Gateway.
func sharedPorts(sides [2]plan.Side) map[uint32]bool {
	shared := map[uint32]bool{}
	for _, side := range sides {
		gateways := map[uint32]string{}
		for _, gateway := range side.View.Gateways {
			for _, port := range gateway.Ports {
				n := port.Port.Port
				if other, known := gateways[n]; known && other != gateway.Name {
					shared[n] = true
				}
				gateways[n] = gateway.Name
			}
		}
	}
	return shared
}

// command is the example of a change as explain takes it.
func (p *planned) command(c plan.Change) string {
	words := exampleWords(c.Example)
	if len(c.Regions) > 0 && p.shared[c.Regions[0].Port] {
		words += " --gateway " + c.Regions[0].Gateway
	}
	return words
}

// readSide reads a folder, or the folder of another argument as it is in a commit. A folder that the
// commit does not have is empty, which the note says.
func readSide(ctx context.Context, place, other string, o folderOptions) (side plan.Side, note string, err error) {
	dir := place
	if revision, isGit := strings.CutPrefix(place, gitPrefix); isGit {
		if strings.HasPrefix(other, gitPrefix) {
			other = "."
		}
		options, err := o.folder(other)
		if err != nil {
			return side, "", err
		}
		folder, err := checkOut(ctx, revision, options.Watch)
		switch {
		case errors.Is(err, errNew):
			note = fmt.Sprintf("%s is not in %s: it is compared with an empty folder", visible.Text(other), visible.Text(place))
		case err != nil:
			return side, "", err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		dir = folder
	}
	read, err := readFolder(ctx, dir, o)
	if err != nil {
		return side, "", err
	}
	return sideOf(read), note, nil
}

func sideOf(read reading) plan.Side {
	return plan.Side{
		View: read.Result.View(), Problems: read.Problems, Objects: read.Objects, Resources: read.Result.Delta, Places: read.Places,
	}
}

func printPlan(w io.Writer, format outputFormat, report *planned) error {
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
