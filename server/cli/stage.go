package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
)

// stageOptions are the flags of staged delivery, in which canaries get a revision before other Envoys.
type stageOptions struct {
	wait, absence time.Duration
	maxErrors     percentage
}

func (o *stageOptions) register(flags *pflag.FlagSet) {
	flags.DurationVar(&o.wait, "stage-wait", 0,
		"how long Envoys of stage canary are on a revision that they accepted before it goes on to the others of their Gateway")
	flags.Var(&o.maxErrors, "stage-max-errors",
		"percentage of requests that may fail with 5xx on Envoys of stage canary during --stage-wait, for each backend that the revision or a route of it changes; no bound unless set")
	flags.DurationVar(&o.absence, "stage-absence", server.DefaultAbsence,
		"how long a revision waits for an Envoy of stage canary that is away, before it goes to all Envoys at once")
}

// apply checks the flags and sets them in the options of the server. The error names the flag that is invalid.
func (o *stageOptions) apply(to *server.Staging) error {
	if o.wait < 0 || o.absence < 0 {
		return errors.New("--stage-wait and --stage-absence must not be negative")
	}
	if least := 3 * server.ReportInterval; o.maxErrors > 0 && o.wait < least {
		return fmt.Errorf("--stage-max-errors needs --stage-wait of at least %s: canaries report every %s", least, server.ReportInterval)
	}
	to.Wait, to.Absence, to.MaxErrors = o.wait, o.absence, float64(o.maxErrors)/100
	return nil
}

// printFleets prints a table with a row for each fleet with canaries. The reason why a fleet is frozen is in
// the list of problems. Without fleets, it prints nothing.
func printFleets(out io.Writer, fleets []admin.Fleet) error {
	if len(fleets) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nFLEET\tSTAGE\tREVISION\tNEWEST\tCANARIES\tENVOYS")
	for _, f := range fleets {
		gateway, revision, canaries := f.Gateway, fmt.Sprint(f.Revision), "none connected"
		if gateway == "" {
			gateway = "all Gateways"
		}
		if f.Revision == 0 {
			revision = "as before the start"
		}
		if len(f.Canaries) > 0 {
			canaries = oneLine(strings.Join(f.Canaries, ", "))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\n", gateway, f.State, revision, f.Newest, canaries, f.Envoys)
	}
	return w.Flush()
}
