package cli

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
)

// failOn is a flag with the outcomes for which explain exits with 1. An outcome is a class of status codes
// (4xx), a status code (404), or a kind of outcome (not-found).
type failOn []string

// String returns the value of the flag as text.
func (f *failOn) String() string { return strings.Join(*f, ",") }

// Type returns the type of the flag for the help.
func (f *failOn) Type() string { return "list" }

// Set adds a comma-separated list to the flag. It returns an error for an unknown outcome.
func (f *failOn) Set(text string) error {
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if !regexp.MustCompile(`^[1-5](xx|[0-9]{2})$`).MatchString(name) && !slices.Contains(outcomes(), name) {
			return fmt.Errorf("%q is no status (404), class of statuses (4xx) or outcome (%s)", name, strings.Join(outcomes(), ", "))
		}
		*f = append(*f, name)
	}
	return nil
}

// outcomes returns the kinds of outcome that the flag accepts.
func outcomes() []string {
	return []string{
		string(explain.Forwarded), string(explain.Redirected), string(explain.Responded), string(explain.NotFound),
		string(explain.Rejected), string(explain.NoListener), string(explain.Closed),
	}
}

// fails reports whether explain must exit with 1. That is so if the list f contains at least one of these:
//   - the kind of outcome of the report
//   - a status that Envoy may answer (see statusesOf)
//   - the class of such a status, for example 5xx
func (f failOn) fails(r *explain.Report) bool {
	return slices.Contains(f, string(r.Outcome)) || slices.ContainsFunc(statusesOf(r), func(status uint32) bool {
		code := fmt.Sprint(status)
		return slices.Contains(f, code) || slices.Contains(f, code[:1]+"xx")
	})
}

// statusesOf returns the HTTP statuses with which Envoy itself may answer the request: the Status of the report and
// the Status of each of its backends. A backend without endpoints adds 503. The statuses that backends themselves
// return are not known.
func statusesOf(r *explain.Report) (all []uint32) {
	if r.Status != 0 {
		all = append(all, r.Status)
	}
	for _, b := range r.Backends {
		switch {
		case b.Status != 0:
			all = append(all, b.Status)
		case b.Receives != nil && len(b.Endpoints) == 0:
			all = append(all, http.StatusServiceUnavailable)
		}
	}
	return all
}
