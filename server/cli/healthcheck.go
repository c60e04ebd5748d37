package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func healthcheckCommand() *cobra.Command {
	var c client
	var live bool
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check whether a running gatefold is ready (exit 0) or not (exit 1)",
		Long: "Check whether a running gatefold is ready: exit code 0, or 1 when it is not or does not answer.\n" +
			"It is ready once its first configuration is published. For a container's HEALTHCHECK.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page := "/readyz"
			if live {
				page = "/healthz"
			}
			code, body, err := c.get(cmd.Context(), page)
			if err == nil && code == http.StatusOK {
				fmt.Fprintln(cmd.OutOrStdout(), "ok")
				return nil
			}
			if err == nil {
				err = fmt.Errorf("not ready: %s", said(body))
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "gatefold:", err)
			return errFindings
		},
	}
	c.register(cmd, healthTimeout, "")
	cmd.Flags().BoolVar(&live, "live", false, "check only whether it runs")
	return cmd
}
