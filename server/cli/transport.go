package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/mtls"
)

// transportOptions are the flags that decide who may connect to gatefold.
type transportOptions struct {
	socketMode string
	tls        mtls.Files
	identities []string
}

func (o *transportOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.socketMode, "socket-mode", "0600", "who may connect to unix sockets, as an octal mode: 0660 lets the group, too")
	flags.StringVar(&o.tls.Cert, "xds-tls-cert", "", "ask Envoys for certificates (mTLS), and show them this one (PEM); followed when it changes")
	flags.StringVar(&o.tls.Key, "xds-tls-key", "", "private key of --xds-tls-cert (PEM)")
	flags.StringVar(&o.tls.ClientCA, "xds-tls-client-ca", "", "CA certificates that sign Envoys' certificates (PEM)")
	flags.StringSliceVar(&o.identities, "xds-tls-identity", nil,
		"SAN=NAMESPACE/NAME: certificates with this DNS name or URI may have that Gateway, SAN=* all of them;\n"+
			"the URI spiffe://TRUST-DOMAIN/gateway/NAMESPACE/NAME needs no flag")
}

// apply checks the flags and sets them in the options of the server. The error names the flag that is invalid.
func (o *transportOptions) apply(to *server.Options) error {
	mode, err := strconv.ParseUint(cmp.Or(o.socketMode, "0600"), 8, 32)
	if err != nil || mode == 0 || mode > uint64(fs.ModePerm) {
		return fmt.Errorf("--socket-mode %q is not an octal mode such as 0660", o.socketMode)
	}
	grants, err := mtls.ParseGrants(o.identities)
	switch {
	case err != nil:
		return fmt.Errorf("--xds-tls-identity: %w", err)
	case o.tls.Any() && (o.tls.Cert == "" || o.tls.Key == "" || o.tls.ClientCA == ""):
		return errors.New("--xds-tls-cert, --xds-tls-key and --xds-tls-client-ca go together")
	case o.tls.Any() && to.XDSInsecure:
		return errors.New("--xds-insecure and --xds-tls-cert exclude each other")
	case len(grants) > 0 && !o.tls.Any():
		return errors.New("--xds-tls-identity needs --xds-tls-cert, --xds-tls-key and --xds-tls-client-ca")
	}
	to.SocketMode, to.TLS, to.Grants = fs.FileMode(mode), o.tls, grants
	return nil
}

// printTransport prints problems with the xDS certificate, and a table of clients that gatefold rejected.
func printTransport(out io.Writer, page admin.Transport) error {
	if tls := page.TLS; tls != nil && tls.Problem != "" {
		fmt.Fprintf(out, "\nThe xDS certificate files cannot be used; the previous ones are still used: %s\n", oneLine(tls.Problem))
	} else if tls != nil && time.Now().After(tls.Expires) {
		fmt.Fprintf(out, "\nThe xDS certificate expired on %s: no Envoy will connect.\n", tls.Expires.Format(time.RFC3339))
	} else if tls != nil && time.Until(tls.Expires) < admin.Soon {
		fmt.Fprintf(out, "\nThe xDS certificate ends on %s, %s.\n", tls.Expires.Format(time.RFC3339), untilWords(tls.Expires))
	}
	if len(page.RejectedClients) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nREJECTED\tCERTIFICATE\tASKS FOR\tPEER\tTIMES\tLAST\tWHY")
	for _, r := range page.RejectedClients {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", cell(r.Node), cell(r.Identity), cell(r.Cluster), cell(r.Peer),
			r.Times, r.Last.Format(time.RFC3339), oneLine(r.Reason))
	}
	return w.Flush()
}

// cell returns a text for a column of a table: in one line (see oneLine), with quotes and backslashes escaped. It
// returns "-" for "".
func cell(text string) string {
	if text == "" {
		return "-"
	}
	quoted := strconv.Quote(oneLine(text))
	return quoted[1 : len(quoted)-1]
}
