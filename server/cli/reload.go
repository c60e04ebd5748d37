package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func reloadCommand() *cobra.Command {
	var c client
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have a running gatefold read its folder now",
		Long: "Have a running gatefold read its folder now and serve what it says. Edits need no reload, but where\n" +
			"the system announces none they are found sooner (see --watch).\n" +
			"It ends a hold: when the folder was emptied or is gone, what served before goes on serving\n" +
			"until files return or this command allows it to be empty. The exit code is 1 while it is held.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page := "/api/v1/reload"
			if allowEmpty {
				page += "?allow-empty=true"
			}
			code, body, err := c.ask(cmd.Context(), http.MethodPost, page)
			switch {
			case err != nil:
				return err
			case code == http.StatusConflict:
				fmt.Fprintln(cmd.ErrOrStderr(), "gatefold: held:", said(body))
				return errFindings
			case code != http.StatusOK:
				return fmt.Errorf("%s answers %d: %s", c.address, code, said(body))
			}
			fmt.Fprintln(cmd.OutOrStdout(), "reloaded")
			return nil
		},
	}
	c.register(cmd.Flags())
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "serve nothing when the folder is empty or gone")
	return cmd
}
