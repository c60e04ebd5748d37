package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/manifest"
)

func reloadCommand() *cobra.Command {
	var c client
	var allowEmpty, promote bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have a running gatefold read its folder now",
		Long: "Have a running gatefold read its folder now, and print what changed and the problems. gatefold applies\n" +
			"edits by itself; use this where file events do not work (see --watch), or with --allow-empty to serve\n" +
			"nothing after the folder was emptied or removed.\n" +
			"The exit code is 1 when the folder has errors or is frozen, 2 when gatefold cannot be reached or the reload fails.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, asked := range map[string]bool{"allow-empty": allowEmpty, "promote": promote} {
				if asked {
					query.Set(name, "true")
				}
			}
			page := url.URL{Path: admin.ReloadPath, RawQuery: query.Encode()}
			code, body, err := c.ask(cmd.Context(), http.MethodPost, page.String())
			switch {
			case err != nil:
				return err
			case code == http.StatusConflict:
				fmt.Fprintln(cmd.ErrOrStderr(), "gatefold: not reloaded:", oneLine(said(body)))
				return errFindings
			case code != http.StatusOK:
				return fmt.Errorf("%s answers %d: %s", c.address, code, said(body))
			}
			return c.printReload(cmd.Context(), cmd.OutOrStdout(), body)
		},
	}
	c.register(cmd, defaultTimeout, "")
	cmd.Flags().BoolVar(&promote, "promote", false, "send all Envoys what only those of stage canary have, also what these rejected")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "serve nothing when the folder is empty or gone")
	return cmd
}

// printReload prints what a reload changed. If the folder has problems, printReload also requests and prints them
// (printProblems). The parameter body is the response to the reload. printReload returns errFindings if the folder
// has errors. Other errors mean that gatefold did not answer as expected.
func (c *client) printReload(ctx context.Context, out io.Writer, body []byte) error {
	var page admin.Reloaded
	if err := json.Unmarshal(body, &page); err != nil {
		return fmt.Errorf("%s does not answer as gatefold does: %w", c.address, err)
	}
	if page.SetCount+page.RemovedCount == 0 {
		fmt.Fprintln(out, "reloaded: nothing changed since gatefold last read the folder")
	} else {
		fmt.Fprintf(out, "reloaded: %s set, %d removed\n", count(page.SetCount, "object"), page.RemovedCount)
	}
	printChanged(out, "set", page.Set, page.SetCount)
	printChanged(out, "removed", page.Removed, page.RemovedCount)
	if page.Errors+page.Warnings > 0 {
		var list problemList
		if err := c.getJSON(ctx, "/api/v1/problems", &list); err != nil {
			return err
		}
		if err := printProblems(out, list.Problems); err != nil {
			return err
		}
	}
	if page.Errors > 0 {
		return errFindings
	}
	return nil
}

// maxChangesShown limits how many objects the command reload prints of each of its lists ("set" and "removed").
const maxChangesShown = 20

// printChanged prints a list of keys, with the word in the parameter what ("set" or "removed") before each key.
// It prints at most maxChangesShown keys, and then the number of further objects. The parameter all is the
// number of all changed objects, which may be more than the list has.
func printChanged(out io.Writer, what string, keys []manifest.Key, all int) {
	for _, key := range keys[:min(len(keys), maxChangesShown)] {
		fmt.Fprintf(out, "  %s %s\n", what, key)
	}
	if more := all - min(len(keys), maxChangesShown); more > 0 {
		fmt.Fprintf(out, "  %d more %s\n", more, what)
	}
}
