package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// statusOptions are the arguments and flags of status.
type statusOptions struct {
	client    client
	format    outputFormat
	namespace string
	problems  bool // print only the problems
	wrongOnly bool // leave out what is as it should be
	watch     bool
	filter    board.Filter
}

func statusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [KIND [[NAMESPACE/]NAME] | KIND/NAME]",
		Short: "Show the status of every object, every problem, and the endpoints that Envoys hold unhealthy",
		Long: "Show the status of every object as a running gatefold sees it, with the conditions of the Gateway API;\n" +
			"the problems of the folder; for each Envoy on gatefold's host the endpoints that it does not use, and why; and\n" +
			"the certificates that have ended or end within 14 days.\n" +
			"KIND, NAME and -n show fewer objects, with their problems. KIND and KIND/NAME are as for kubectl: httproute, gtw/edge.\n" +
			"The exit code is 1 for an error, a stale object (its last valid version is served), a condition that is not\n" +
			"as it should be, such as a listener that no Envoy could bind, an unhealthy endpoint, a frozen folder, and an\n" +
			"object that does not exist; 2 for an unknown kind, or when gatefold cannot be reached.",
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			if o.watch {
				return o.follow(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			view, err := o.ask(cmd.Context())
			if err != nil {
				return o.missing(cmd.ErrOrStderr(), err)
			}
			if err := view.write(cmd.OutOrStdout(), o.format); err != nil {
				return err
			}
			if view.wrong() {
				return errFindings
			}
			return nil
		},
	}
	o.client.register(cmd, defaultTimeout, "")
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "show the objects of this namespace alone; with NAME, its namespace (default \"default\")")
	cmd.Flags().BoolVar(&o.problems, "problems", false, "show the problems alone, all of them, with the lines of the files")
	cmd.Flags().BoolVar(&o.wrongOnly, "problems-only", false, "leave out the objects, Envoys and certificates that are as they should be")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "print again whenever something changes, until Ctrl-C; with -o json or yaml, one document each time")
	o.format.register(cmd.Flags(), formatText, formatJSON, formatYAML)
	return cmd
}

// read sets the filter from the arguments and -n. KIND/NAME in one argument is the same as KIND NAME in two. It returns
// an error if the arguments and -n name different namespaces, or if they cannot be a filter: for example, the kind is
// unknown.
func (o *statusOptions) read(args []string) (err error) {
	if o.problems && o.wrongOnly {
		return errors.New("--problems shows the problems of the folder alone: leave out --problems-only")
	}
	kind, namespace, name := "", o.namespace, ""
	if len(args) > 0 {
		kind = args[0]
	}
	if before, after, slash := strings.Cut(kind, "/"); slash {
		if len(args) > 1 {
			return fmt.Errorf("%s is one object, and status takes one: leave out %q", kind, args[1])
		}
		kind, args = before, []string{before, after}
	}
	if len(args) > 1 {
		name = args[1]
		before, after, slash := strings.Cut(name, "/")
		found, _, _ := store.FindKind(kind)
		switch {
		case slash && namespace != "" && namespace != before:
			return fmt.Errorf("-n %s and %s name two namespaces", namespace, name)
		case slash:
			namespace, name = before, after
		case namespace == "" && !found.ClusterScoped:
			namespace = "default"
		}
		if name == "" {
			return errors.New("no name is given: status KIND NAMESPACE/NAME, or status KIND/NAME")
		}
	}
	o.filter, err = board.NewFilter(kind, namespace, name)
	return err
}

// missing handles an error of a status request. If the error says that the named object does not exist
// (noObject), missing prints it and returns errFindings. It returns any other error unchanged.
func (o *statusOptions) missing(stderr io.Writer, err error) error {
	var none noObject
	if !errors.As(err, &none) {
		return err
	}
	fmt.Fprintf(stderr, "gatefold: %v\n", err)
	return errFindings
}

// statusView is the output of status. wrong reports whether the user must fix something.
type statusView interface {
	write(out io.Writer, format outputFormat) error
	wrong() bool
}

// asks is the largest number of times that the command status requests the objects. It requests them again if the
// folder's problems changed meanwhile (see ask).
const asks = 5

// ask requests the pages that status prints. With --problems, it requests only the problems. Otherwise it requests
// the problems before and after the objects, and tries again if the problems changed meanwhile: then the pages may
// not fit together. After the last attempt, it returns them even so. The errors are those of askProblems and
// askObjects.
func (o *statusOptions) ask(ctx context.Context) (statusView, error) {
	problems, err := o.askProblems(ctx)
	if err != nil {
		return nil, err
	}
	if o.problems {
		return &problemsView{problems}, nil
	}
	for range asks - 1 {
		page, err := o.askObjects(ctx, problems)
		if err != nil {
			return nil, err
		}
		before := problems
		if problems, err = o.askProblems(ctx); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, problems) {
			return page, nil
		}
	}
	return o.askObjects(ctx, problems)
}

// askProblems requests the problems of the folder from a running gatefold. If the user filters by kind,
// namespace or name, only the problems of the selected objects are returned. The error means that gatefold did
// not answer as expected.
func (o *statusOptions) askProblems(ctx context.Context) (list problemList, err error) {
	err = o.client.getJSON(ctx, "/api/v1/problems", &list)
	if o.filter != (board.Filter{}) {
		list.Problems = slices.DeleteFunc(list.Problems, func(p manifest.Problem) bool { return !o.filter.Picks(p.Object) })
	}
	if len(list.Problems) == 0 {
		list.Problems = nil // so that JSON leaves the list out
	}
	return list, err
}

// askObjects requests the objects with their status. Without a filter (kind, namespace or name), it also
// requests the Envoys, the certificates, the digest of the served versions and the xDS transport. The error is a noObject if a named object does not exist. Any other
// error means that gatefold did not answer as expected.
func (o *statusOptions) askObjects(ctx context.Context, problems problemList) (*statusPage, error) {
	page := &statusPage{statusList: statusList{problemList: problems}, wrongOnly: o.wrongOnly}
	code, body, err := o.client.get(ctx, o.filter.Path())
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusNotFound && o.filter.Name != "":
		return nil, noObject{said(body)}
	}
	if err := o.client.parse(o.filter.Path(), code, body, &page.statusList); err != nil || o.filter != (board.Filter{}) {
		return page, err
	}
	if err := o.client.getJSON(ctx, "/api/v1/envoys", &page.EnvoyList); err != nil {
		return nil, err
	}
	if err := o.askCertificates(ctx, page); err != nil {
		return nil, err
	}
	var revisions admin.RevisionList
	if err := o.client.getJSON(ctx, "/api/v1/revisions", &revisions); err != nil {
		return nil, err
	}
	page.LiveDigest = revisions.LiveDigest
	return page, o.client.getJSON(ctx, "/api/v1/transport", &page.transport)
}

// askCertificates requests the certificates of listeners. As long as nothing is loaded, there are none. The error means
// that gatefold did not answer as expected.
func (o *statusOptions) askCertificates(ctx context.Context, page *statusPage) error {
	const path = "/api/v1/certificates"
	var list admin.CertificateList
	code, body, err := o.client.get(ctx, path)
	if err != nil || code == http.StatusServiceUnavailable {
		return err
	}
	err = o.client.parse(path, code, body, &list)
	page.Certificates = list.Certificates
	return err
}

// noObject is the error for a named object that does not exist. words is the message of gatefold.
type noObject struct{ words string }

// Error implements error.
func (e noObject) Error() string { return e.words }

// problemList is the admin page /api/v1/problems.
type problemList struct{ admin.ProblemList }

// statusList is the admin page /api/v1/status, a v1 List, together with the pages /api/v1/envoys,
// /api/v1/certificates and /api/v1/problems, and the digest of /api/v1/revisions.
type statusList struct {
	board.List[objectStatus]
	admin.EnvoyList
	// Certificates are the certificates that listeners present to clients. The one that ends first is first.
	Certificates []admin.Certificate `json:"certificates,omitempty"`
	// LiveDigest stands for the versions of all objects that are served (admin.RevisionList).
	LiveDigest uint64 `json:"liveDigest,omitempty"`
	problemList
}

// statusPage is the output of status without --problems.
type statusPage struct {
	statusList
	transport admin.Transport
	wrongOnly bool // leave out what is as it should be
}

// wrong reports whether the user must fix the folder, an object, or an Envoy or one of its backends.
func (p *statusPage) wrong() bool {
	return p.problemList.wrong() || slices.ContainsFunc(p.Items, objectStatus.wrong) ||
		slices.ContainsFunc(p.Envoys, unwell) || slices.ContainsFunc(p.Supervised, host.State.Wrong)
}

// write implements statusView: it prints the page in the given format.
func (p *statusPage) write(out io.Writer, format outputFormat) error {
	if p.wrongOnly {
		p.dropGood()
	}
	if format == formatText {
		return p.print(out)
	}
	return writeValue(out, format, p.statusList)
}

// print prints the page as text: first the tables, then messages about the whole folder and problems.
func (p *statusPage) print(out io.Writer) error {
	err := errors.Join(printObjects(out, p.Items, p.wrongOnly), printSupervised(out, p.Supervised), printFleets(out, p.Fleets), printEnvoys(out, p.Envoys), printCertificates(out, p.Certificates), printTransport(out, p.transport))
	if err != nil {
		return err
	}
	p.printFolder(out)
	if p.LiveDigest != 0 && !p.wrongOnly {
		fmt.Fprintf(out, "\nLive digest: %d\n", p.LiveDigest)
	}
	// Leave out the problem that explains why the folder is frozen: printFolder has printed it.
	return printProblems(out, slices.DeleteFunc(slices.Clone(p.Problems), func(o manifest.Problem) bool { return strings.HasPrefix(p.Frozen, o.Message) }))
}

// dropGood removes from the page what is as it should be. A folder without objects stays one: its text must not say
// that every object is well.
func (p *statusPage) dropGood() {
	p.wrongOnly = len(p.Items) > 0
	p.Items = slices.DeleteFunc(p.Items, func(o objectStatus) bool { return !o.wrong() })
	p.Envoys = slices.DeleteFunc(p.Envoys, func(e health.Envoy) bool { return !unwell(e) })
	p.Supervised = slices.DeleteFunc(p.Supervised, func(s host.State) bool { return !s.Wrong() })
	p.Fleets = slices.DeleteFunc(p.Fleets, func(f admin.Fleet) bool { return f.Problem == "" })
	p.Certificates = slices.DeleteFunc(p.Certificates, func(c admin.Certificate) bool { return c.State == admin.CertificateValid })
}

// printObjects prints a table with a row for each part of an object's status: for example, for each parent of a
// route. For a part with wrong conditions, it prints a row for each wrong condition instead. If wrongOnly is true, it
// leaves out the rows of the other parts. Without objects, it prints a message.
func printObjects(out io.Writer, items []objectStatus, wrongOnly bool) error {
	switch {
	case len(items) == 0 && wrongOnly:
		_, err := fmt.Fprintln(out, "Every condition of every object is as it should be, and none is stale.")
		return err
	case len(items) == 0:
		_, err := fmt.Fprintln(out, "No object with a status, and none that is stale.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tPART\tSTATE\tREASON\tMESSAGE")
	for _, o := range items {
		for _, row := range o.rows() {
			if !wrongOnly || row[3] != stateOK {
				fmt.Fprintln(w, strings.Join(row[:], "\t"))
			}
		}
	}
	return w.Flush()
}

// oneLine returns a text in one line, with single spaces, and "?" instead of control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// count returns a number with its noun, such as "1 file" or "2 files".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
