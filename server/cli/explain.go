package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/translate/explain"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	request requestArgs
	folder  folderOptions
	format  outputFormat
	headers []string
	gateway string
	from    string
	failOn  failOn
	server  client
}

func explainCommand() *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain [DIR] [METHOD] URL",
		Short: "Explain what happens to a request, and why",
		Long: "Explain what happens to a request, and why: the rule that matches it with file and line, what is done to it,\n" +
			"what the backend receives, the policies on its way, the rules that nearly matched and why they lost, and the\n" +
			"problems that matter. METHOD, in capitals, is GET unless you give one. The URL begins with http, https, ws or wss.\n" +
			"It answers for what a folder would serve from a cold start; without DIR, for what the gatefold at\n" +
			"--admin-address serves now. The exit code is 0 for every answer, also for a 404, unless --fail-on names it.\n" +
			"For a connection or a datagram leave METHOD out and ask for tcp://HOST:PORT, udp://HOST:PORT, or\n" +
			"tls://NAME:PORT with the name that the client asks for in the handshake.\n" +
			"docs/json.md describes the JSON.",
		Example: "  gatefold explain ./folder http://shop.example.com:8080/cart -H 'x-env: prod'\n" +
			"  gatefold explain ./folder POST https://shop.example.com/cart --fail-on 4xx,5xx,no-listener\n" +
			"  gatefold explain ./folder tls://db.example.com:5432\n" +
			"  gatefold explain http://shop.example.com:8080/cart   # what the running gatefold serves",
		Args: func(cmd *cobra.Command, args []string) (err error) {
			o.request, err = readRequest(cmd, args)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := o.explain(cmd.Context())
			if err != nil {
				return err
			}
			if err := o.print(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if o.failOn.fails(report) {
				return errFindings
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.headers, "header", "H", nil, "a header of the request, 'name: value'; may be repeated")
	flags.StringVar(&o.gateway, "gateway", "", "the Gateway NAMESPACE/NAME that is asked, when several fit")
	flags.StringVar(&o.from, "from", "", "the IP address that the client connects from, or that its PROXY header reports")
	flags.Var(&o.failOn, "fail-on", "exit with 1 for these answers: 4xx, 5xx, single codes such as 404, or outcomes: "+strings.Join(outcomes(), ", "))
	o.server.register(cmd, 10*time.Second, " when no DIR is given")
	o.folder.register(flags)
	o.format.register(flags, formatText, formatJSON, formatYAML)
	return cmd
}

// explain returns the report for the request, from a folder or from a running gatefold. The error means that the
// request or a flag is invalid, or that the folder or gatefold cannot be read.
func (o *explainOptions) explain(ctx context.Context) (*explain.Report, error) {
	r := o.request
	query, err := explain.NewQuery(explain.MethodFor(r.method, r.url), r.url, o.headers)
	if err != nil {
		return nil, err
	}
	if r.folder == "" {
		return o.ask(ctx, r.method, r.url)
	}
	query.Gateway = o.gateway
	if err := query.SetFrom(o.from); err != nil {
		return nil, err
	}
	read, err := readFolder(ctx, r.folder, o.folder)
	if err != nil {
		return nil, err
	}
	return explain.Explain(explain.Facts{
		View: read.Result.View(), Problems: read.Problems, Statuses: read.Result.Status,
		Places: read.Places, Outlines: read.Outlines, Labels: read.Labels,
	}, query)
}

// print prints a report in the format of -o. Hints in the text name the folder, or "DIR" if the report is from
// a running gatefold.
func (o *explainOptions) print(w io.Writer, report *explain.Report) error {
	if o.format != formatText {
		return writeValue(w, o.format, report)
	}
	validate := "gatefold validate " + cmp.Or(o.request.folder, "DIR")
	_, err := w.Write(explainText(report, validate, useColor(isTerminal(w))))
	return err
}

// ask requests the report from a running gatefold. The parameter address is the URL of the request to explain.
// The error means that gatefold gave no valid answer, or that it could not explain the request.
func (o *explainOptions) ask(ctx context.Context, method, address string) (*explain.Report, error) {
	question := url.Values{"method": {method}, "url": {address}, "header": o.headers}
	if o.gateway != "" {
		question.Set("gateway", o.gateway)
	}
	if o.from != "" {
		question.Set("from", o.from)
	}
	code, body, err := o.server.get(ctx, "/api/v1/explain?"+question.Encode())
	switch {
	case err != nil:
		return nil, o.server.orAsk(err, "to ask a folder, give it before the URL")
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
