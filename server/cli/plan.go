package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/watcher"
)

const formatMarkdown outputFormat = "markdown"

// planOptions are the flags of plan.
type planOptions struct {
	folder folderOptions
	format outputFormat
	server client
}

func planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan [OLD] NEW",
		Short: "Report which requests change between two folders",
		Long: "Report which requests change between two folders: an example of each kind with both answers, and the rule, object\n" +
			"or field that is the reason; problems, policies, listeners, certificates, objects and Envoy resources that differ.\n" +
			"git:REVISION is the folder of the other argument as it is in that commit. Without OLD it compares with what the\n" +
			"gatefold at --admin-address serves now: NEW is read with that one's settings, but for flags that you give.\n" +
			"OLD is read as from a cold start, and NEW as a gatefold gets it that serves OLD: the report lists the edits that it does\n" +
			"not apply because of an error, the errors that edits bring to other objects, and what serve --strict would not apply.\n" +
			"The first line is a summary. Nothing is applied.\n" +
			"The exit code is 0 if nothing changes, 1 if something does, and 2 if that cannot be found out.\n" +
			"docs/json.md describes the JSON.",
		Example: "  gatefold plan ./main ./branch\n" +
			"  gatefold plan git:origin/main ./folder -o markdown >comment.md\n" +
			"  gatefold plan ./folder   # against what the running gatefold serves",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			if len(args) == 2 && serverGiven(cmd) {
				return fmt.Errorf("plan compares two folders, or one with a running gatefold: leave out %q, or --%s", args[0], adminFlag)
			}
			return exactly("the folder before, or git:REVISION,", "the folder after")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			format := o.format
			report, err := o.report(cmd, args)
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
	flags := cmd.Flags()
	o.server.register(cmd, time.Minute, " when only NEW is given")
	o.folder.register(flags)
	o.format.register(flags, formatText, formatJSON, formatYAML, formatMarkdown)
	return cmd
}

// planned is the report of plan, with a note about its inputs.
type planned struct {
	*plan.Report
	// Note is a message if one side does not exist, or "" if both exist.
	Note string `json:"note,omitempty"`

	// shared are the ports on which several Gateways of one side listen.
	shared map[uint32]bool
}

// report compares two folders, or the configuration of a running gatefold with a folder. It returns an error if
// one side cannot be read.
func (o *planOptions) report(cmd *cobra.Command, args []string) (*planned, error) {
	if len(args) == 2 {
		return planReport(cmd.Context(), args[0], args[1], o.folder)
	}
	return o.serverReport(cmd.Context(), args[0], cmd.Flags())
}

// planReport compares two folders, and reads both at the same time. Each of the parameters before and after is
// a folder or git:REVISION. The error means that a flag is invalid, that one of the two cannot be read, or that
// ctx has ended.
func planReport(ctx context.Context, before, after string, o folderOptions) (*planned, error) {
	collectSeldom()
	places := [2]string{before, after}
	var trees [2]watcher.Tree
	var notes [2]string
	var errs [2]error
	var readers sync.WaitGroup
	for i, place := range places {
		readers.Go(func() { trees[i], notes[i], errs[i] = readPlace(ctx, place, places[1-i], o) })
	}
	readers.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return nil, err
	}
	folder, err := o.folder(after)
	if err != nil {
		return nil, err
	}
	sides, err := engine.ReadSides(ctx, folder, trees)
	if err != nil {
		return nil, err
	}
	return compareSides(ctx, sides, cmp.Or(notes[0], notes[1]))
}

// compareSides compares two configurations: the one before and the one after a change. The parameter note
// becomes the Note of the report. The error means that ctx has ended.
func compareSides(ctx context.Context, sides [2]plan.Side, note string) (*planned, error) {
	report, err := plan.Compare(ctx, sides[0], sides[1])
	return &planned{Report: report, Note: note, shared: sharedPorts(sides)}, err
}

// sharedPorts returns the ports on which several Gateways of one side of the plan listen. A command of explain
// for such a port needs the name of the Gateway.
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

// command returns the arguments of an explain command for the example request of a change. If several Gateways
// listen on the port of the request, the arguments include --gateway.
func (p *planned) command(c plan.Change) string {
	words := exampleWords(c.Example)
	if len(c.Regions) > 0 && p.shared[c.Regions[0].Port] {
		words += " --gateway " + c.Regions[0].Gateway
	}
	return words
}

// printPlan prints a report in a format.
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
