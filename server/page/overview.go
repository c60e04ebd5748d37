package page

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/store/manifest"
)

// The overview shows at most this many problems, objects with a problem, and Envoys.
const maxOverviewProblems, maxOverviewObjects, maxOverviewEnvoys = 20, 20, 100

// overview is the first page: the served revision, then what does not serve as written, then the problems with a line
// each, then the Envoys.
type overview struct {
	Served           admin.RevisionList
	Problems         admin.ProblemList
	Errors, Warnings int
	Shown            []briefProblem // errors first
	Envoys           []envoyRow
	MoreEnvoys       int
	Certificates     string // how many certificates are not valid, or end soon; "" for none
	Transport        admin.Transport
	Fleets           []fleetRow
	Hosted           []hostedRow // the Envoys of this machine that have a problem
	MoreHosted       int
	Kinds            []kindRow
	Wrong            []objectRow
	MoreWrong        int
}

// Well reports whether nothing is wrong. Something is wrong in these cases:
//   - The folder has errors, is frozen, or has never been loaded.
//   - One step of a change has been running for a long time.
//   - The state cannot be saved.
//   - An object, a fleet, or an Envoy that gatefold runs on this machine has a problem.
//
// Warnings do not count.
func (o overview) Well() bool {
	return o.Errors == 0 && len(o.Wrong) == 0 && o.Problems.Frozen == "" && o.Problems.Unloaded == "" && o.Problems.Busy == "" && o.Problems.State == "" &&
		len(o.Hosted) == 0 && !slices.ContainsFunc(o.Fleets, func(f fleetRow) bool { return f.Problem != "" })
}

// kindRow has the number of objects of one kind, and the number of those objects that have a problem.
type kindRow struct {
	Kind       string
	All, Wrong int
}

// envoyRow is a connected Envoy with the state of its updates.
type envoyRow struct {
	admin.Stream
	Current   bool // it has the revision that is served
	Pending   int
	Removing  int
	Rejecting []rejection
}

// rejection is a resource that an Envoy rejected.
type rejection struct {
	Type string
	admin.Rejected
}

// Gateways returns the Gateways of the Envoy in words.
func (e envoyRow) Gateways() string { return gatewayWords(e.Cluster) }

// overview returns the body of the first page. The error is always nil.
func (p *pages) overview(*http.Request) (any, error) {
	o := overview{Served: p.documents.Revisions(), Problems: p.documents.Problems(), Transport: p.documents.Transport()}
	o.Errors, o.Warnings = manifest.Count(o.Problems.Problems)
	o.Shown = briefProblems(o.Problems.Problems)
	o.Envoys = envoyRows(p.documents.Streams(), o.Served.Revision)
	if more := len(o.Envoys) - maxOverviewEnvoys; more > 0 {
		o.Envoys, o.MoreEnvoys = o.Envoys[:maxOverviewEnvoys], more
	}
	if certificates, err := p.documents.Certificates(); err == nil { // without them, nothing is loaded yet
		o.Certificates = certificateCounts(certificates)
	}
	o.Fleets = fleetRows(p.documents.Fleets())
	wrong := slices.DeleteFunc(slices.Clone(p.documents.Supervised()), func(s host.State) bool { return !s.Wrong() })
	o.Hosted, o.MoreHosted = hostedRows(wrong, maxOverviewEnvoys)
	rows := objectRows(p.documents.Status(board.Filter{}))
	o.Kinds = kindRows(rows)
	o.Wrong, o.MoreWrong = wrongRows(rows)
	return o, nil
}

// errorsFirst returns a copy of the problems with errors before warnings.
func errorsFirst(problems []manifest.Problem) []manifest.Problem {
	sorted := slices.Clone(problems)
	slices.SortStableFunc(sorted, func(a, b manifest.Problem) int { return strings.Compare(string(a.Severity), string(b.Severity)) })
	return sorted
}

// briefProblem is a problem that the overview shows in one line. The rest of it is in an element that the user opens.
type briefProblem struct{ manifest.Problem }

// ID returns the id of the HTML element, which stays the same while the problem does.
func (b briefProblem) ID() string {
	return idFrom("p", string(b.Severity), b.Code, b.Object.String(), b.Field, b.File, b.Message)
}

// briefProblems returns the first maxOverviewProblems problems, errors first.
func briefProblems(problems []manifest.Problem) (shown []briefProblem) {
	sorted := errorsFirst(problems)
	for _, p := range sorted[:min(len(sorted), maxOverviewProblems)] {
		shown = append(shown, briefProblem{p})
	}
	return shown
}

// wrongRows returns the first maxOverviewObjects objects with a problem, and the number of the others. What stops the
// most traffic comes first (see objectRow.rank).
func wrongRows(objects []objectRow) (shown []objectRow, more int) {
	wrong := slices.DeleteFunc(slices.Clone(objects), func(o objectRow) bool { return !o.Wrong })
	slices.SortStableFunc(wrong, func(a, b objectRow) int { return a.rank() - b.rank() })
	n := min(len(wrong), maxOverviewObjects)
	return wrong[:n], len(wrong) - n
}

// kindRows counts objects by kind. The objects must be sorted by kind.
func kindRows(objects []objectRow) (rows []kindRow) {
	for _, o := range objects {
		if len(rows) == 0 || rows[len(rows)-1].Kind != o.Key.Kind {
			rows = append(rows, kindRow{Kind: o.Key.Kind})
		}
		last := &rows[len(rows)-1]
		last.All++
		if o.Wrong {
			last.Wrong++
		}
	}
	return rows
}

// envoyRows returns a row for each Envoy, sorted by rank. The parameter served is the revision that is served.
// A row has at most maxRejecting rejected resources.
func envoyRows(streams []admin.Stream, served uint64) []envoyRow {
	rows := make([]envoyRow, 0, len(streams))
	for _, s := range streams {
		row := envoyRow{Stream: s, Current: s.Revision == served}
		for typ, state := range s.Types {
			row.Pending += state.Pending
			row.Removing += state.Removing
			for _, r := range state.Rejected {
				row.Rejecting = append(row.Rejecting, rejection{typ, r})
			}
		}
		slices.SortFunc(row.Rejecting, func(a, b rejection) int { return strings.Compare(a.Type+" "+a.Name, b.Type+" "+b.Name) })
		row.Rejecting = row.Rejecting[:min(len(row.Rejecting), maxRejecting)]
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b envoyRow) int { return rank(a) - rank(b) })
	return rows
}

// maxRejecting is how many rejections of one Envoy are shown.
const maxRejecting = 5

// rank returns the position of an Envoy in the list, the lowest first. It is 0 if the Envoy rejected a resource.
// It is 1 if the revision of the Envoy is not the served one, or if the Envoy requests a Gateway that is not
// known. Otherwise it is 2.
func rank(e envoyRow) int {
	switch {
	case len(e.Rejecting) > 0:
		return 0
	case !e.Current || !e.Known:
		return 1
	}
	return 2
}

// State returns the state of the Envoy in words.
func (e envoyRow) State() string {
	switch {
	case !e.Known:
		return "no Gateway"
	case len(e.Rejecting) > 0:
		return "rejects"
	case e.Current:
		return "up to date"
	case e.Pending+e.Removing > 0:
		return fmt.Sprintf("%d on the way", e.Pending+e.Removing)
	}
	return "behind"
}

// Class returns the CSS class of the state.
func (e envoyRow) Class() string {
	switch {
	case !e.Known || len(e.Rejecting) > 0:
		return "bad"
	case e.Current:
		return "good"
	}
	return "warn"
}
