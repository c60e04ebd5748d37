package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/translate/explain"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	folder  folderOptions
	format  outputFormat
	headers []string
	gateway string
	server  client
}

func explainCommand() *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain DIR METHOD URL",
		Short: "Tell what happens to a request, and why",
		Long: "Tell what happens to a request, and why: the rule that takes it with file and line, what is done to it,\n" +
			"what the back end receives, which rules came near and why they lost, and the problems that matter.\n" +
			"It answers for what a folder would serve from a cold start; with --server, and without DIR, for what\n" +
			"a running gatefold serves. The exit code is 0 for every answer, also for a 404.\n" +
			"For a connection or a datagram leave METHOD out and ask for tcp://HOST:PORT, udp://HOST:PORT, or\n" +
			"tls://NAME:PORT with the name that the client asks for in the handshake.\n" +
			"docs/json.md describes the JSON.",
		Example: "  gatefold explain ./folder GET http://shop.example.com:8080/cart -H 'x-env: prod'\n" +
			"  gatefold explain ./folder tls://db.example.com:5432\n" +
			"  gatefold explain --server 127.0.0.1:19000 GET http://shop.example.com:8080/cart",
		Args: func(cmd *cobra.Command, args []string) error {
			names := []string{"the folder", "the method of the request", "its URL"}
			if o.server.address != "" {
				names = names[1:]
			}
			if n := len(args); n > 0 && explain.MethodFor("", args[n-1]) == "" {
				names = slices.Replace(names, len(names)-2, len(names), "the URL of the connection")
			}
			return exactly(names...)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := o.explain(cmd.Context(), args)
			if err != nil {
				return err
			}
			if o.format == formatText {
				_, err = cmd.OutOrStdout().Write(explainText(report, useColor(isTerminal(cmd.OutOrStdout()))))
				return err
			}
			return writeValue(cmd.OutOrStdout(), o.format, report)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.headers, "header", "H", nil, "a header of the request, 'name: value'; may be repeated")
	flags.StringVar(&o.gateway, "gateway", "", "the Gateway NAMESPACE/NAME that is asked, when several fit")
	flags.StringVar(&o.server.address, "server", "", "ask a running gatefold at its admin address: HOST:PORT, unix:/path or http://…")
	flags.DurationVar(&o.server.timeout, "timeout", 10*time.Second, "how long to wait for the answer of --server")
	o.folder.register(flags)
	o.format.register(flags, formatText, formatJSON, formatYAML)
	return cmd
}

func (o *explainOptions) explain(ctx context.Context, args []string) (*explain.Report, error) {
	method, address := "", args[len(args)-1]
	if explain.MethodFor("", address) != "" {
		method = args[len(args)-2]
	}
	query, err := explain.NewQuery(method, address, o.headers)
	if err != nil {
		return nil, err
	}
	if o.server.address != "" {
		return o.ask(ctx, method, address)
	}
	query.Gateway = o.gateway
	read, err := readFolder(ctx, args[0], o.folder)
	if err != nil {
		return nil, err
	}
	return explain.Explain(explain.Facts{
		View: read.result.View(), Problems: read.problems, Statuses: read.result.Status, Places: read.places,
	}, query)
}

// ask puts the question to a running gatefold.
func (o *explainOptions) ask(ctx context.Context, method, address string) (*explain.Report, error) {
	question := url.Values{"method": {method}, "url": {address}, "header": o.headers}
	if o.gateway != "" {
		question.Set("gateway", o.gateway)
	}
	code, body, err := o.server.get(ctx, "/api/v1/explain?"+question.Encode())
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusBadRequest:
		return nil, errors.New(said(body))
	case code != http.StatusOK:
		return nil, fmt.Errorf("%s answers %d: %s", o.server.address, code, said(body))
	}
	var report explain.Report
	if err := json.Unmarshal(body, &report); err != nil {
		return nil, fmt.Errorf("%s does not answer as gatefold does: %w", o.server.address, err)
	}
	return &report, nil
}
