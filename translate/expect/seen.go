package expect

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// Seen is what a client sees of one answer.
type Seen struct {
	// Unsent says why the request was not sent, "" if it was sent.
	Unsent string
	// Closed says how the connection ended without an answer, "" if there is an answer.
	Closed string
	// Late is true if no answer came in time.
	Late bool
	// Status and Headers are those of the answer. Status is 0 for a connection that stays open.
	Status  int
	Headers http.Header
	// Certificate is the first name in the server's certificate, "" without TLS.
	Certificate string
	// Echo is the request as a backend received it. It is nil unless an echo backend answers.
	Echo *Echo
}

// Echo is what the backend of the examples answers (examples/echo).
type Echo struct {
	Backend string      `json:"backend"`
	Proto   string      `json:"proto"`
	Host    string      `json:"host"`
	Path    string      `json:"path"`
	Query   string      `json:"query"`
	Headers http.Header `json:"headers"`
}

// upstreamTime is a header that Envoy adds to the answers of backends, and to no other answers.
const upstreamTime = "X-Envoy-Upstream-Service-Time"

// notVisible is why a detail cannot be judged from an answer.
const notVisible = "it is not visible from outside, except with the echo backend of the examples"

// Observer compares the lines of a file of tests (see Request) with the answers that clients got from an Envoy.
type Observer struct{ hidden *redaction }

// NewObserver returns an Observer. The parameter view is the configuration of the Envoys that answer, or nil if it
// is not known. NewObserver only looks up in view which headers and query parameters have credentials. The Observer
// removes these credentials from its results.
func NewObserver(view *ir.View) *Observer { return &Observer{newRedaction(view)} }

// Compare compares a line with what a client has seen of one or several answers, and returns the verdict.
func (o *Observer) Compare(r Request, seen []Seen) Result {
	result := compare(r, seen)
	o.hidden.result(&result)
	return result
}

// compare returns the result of Compare before credentials are removed from its texts. The order of the answers
// has no effect.
func compare(r Request, seen []Seen) Result {
	c := &comparison{request: r, result: Result{Request: r}}
	names := map[string]bool{}
	seen = slices.Clone(seen)
	slices.SortStableFunc(seen, func(a, b Seen) int { return strings.Compare(seenWords(a), seenWords(b)) })
	for _, s := range seen {
		names[c.seen(s)] = true
	}
	if len(r.Backends) > 1 && len(c.result.Differences) == 0 {
		for _, name := range r.BackendNames() {
			if r.Backends[name] > 0 && !names[path.Base(name)] {
				c.doubt(outcome, fmt.Sprintf("no answer of %s was seen in %d requests", name, len(seen)))
			}
		}
	}
	if r.By.Kind != "" {
		c.doubt("by", "an answer does not say which object it is due to")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Mirrors)) {
		c.doubt("mirror", "copies for "+name+" are not visible from outside")
	}
	c.conclude()
	c.result.Got = allWords(seen)
	return c.result
}

// allWords returns a list of answers as text, in the syntax of a test line (see seenWords). It writes equal answers
// that follow each other only once.
func allWords(seen []Seen) string {
	var words []string
	for _, s := range seen {
		words = append(words, seenWords(s))
	}
	return strings.Join(slices.Compact(words), ", ")
}

// seen compares the test line c.request with one answer, and adds differences and doubts to c.result. It returns
// the name of the backend that answered, or a status (see answerer). If the connection ended without an answer, it
// returns "closed". In all other cases it returns "".
func (c *comparison) seen(s Seen) (name string) {
	r := c.request
	c.result.Got = seenWords(s)
	switch {
	case s.Unsent != "":
		c.caveats = true
		c.doubt(outcome, "the request is not sent: "+s.Unsent)
		return ""
	case s.Late:
		c.differs(outcome, r.outcome(), c.result.Got)
		return ""
	case s.Closed != "":
		if !r.Closed && r.Backends[closed] == 0 {
			c.differs(outcome, r.outcome(), c.result.Got)
		}
		return closed
	case r.Closed:
		c.differs(outcome, closed, c.result.Got)
		return ""
	case r.Connection():
		c.doubt(outcome, "the connection is open; which backend has it is not visible")
		return ""
	}
	name = c.answerer(s)
	if r.Location != "" && s.Headers.Get("Location") != r.Location {
		c.differs(outcome, r.outcome(), c.result.Got)
	}
	if r.Certificate != "" && s.Certificate != r.Certificate {
		c.differs("certificate", r.Certificate, s.Certificate)
	}
	for _, header := range slices.Sorted(maps.Keys(r.Answer)) {
		c.header("response "+header, r.Answer[header], s.Headers.Values(header))
	}
	c.echoed(s)
	return name
}

// answerer compares the backend and the status of an answer with the backends and the status that the test line
// expects. It adds differences, and a doubt if the answer does not show which backend answered. The result name is:
//   - the status of the answer, if the line expects no backend
//   - the status, if Envoy itself answered, and the line expects this status for a share of the answers, such as
//     500=10 beside the shares of backends
//   - otherwise the backend that answered, or "" if Envoy answered or the backend is not known
func (c *comparison) answerer(s Seen) (name string) {
	r, status := c.request, strconv.Itoa(s.Status)
	byBackend := s.Echo != nil || s.Headers.Get(upstreamTime) != ""
	_, share := r.Backends[status]
	switch {
	case len(r.Backends) == 0:
		if s.Status != r.Status || byBackend {
			c.differs(outcome, r.outcome(), c.result.Got)
		}
		return status
	case !byBackend && share:
		return status
	case !byBackend && r.Failure == s.Status: // Envoy answers in place of the backend
		return ""
	case !byBackend && s.Status >= http.StatusMultipleChoices:
		c.differs(outcome, r.outcome(), c.result.Got)
		return ""
	case s.Echo == nil:
		c.doubt(outcome, "which backend answers: "+notVisible)
	case !c.expects(s.Echo.Backend):
		c.differs(outcome, r.outcome(), c.result.Got)
		return s.Echo.Backend
	}
	if want := statusWords(r.Failure); (r.Failure != 0 || s.Echo != nil) && status != want {
		c.differs("status", want, status)
	}
	if s.Echo == nil {
		return ""
	}
	return s.Echo.Backend
}

// expects reports whether the line expects a backend of that name, in any namespace.
func (c *comparison) expects(backend string) bool {
	return slices.ContainsFunc(c.request.BackendNames(), func(name string) bool { return path.Base(name) == backend })
}

// echoed compares the request that the backend received (s.Echo) with the path, host, protocol and headers that the
// test line expects at the backend. It adds the differences. If s.Echo is nil, it adds a doubt for each of these that
// the line has.
func (c *comparison) echoed(s Seen) {
	r := c.request
	wants := map[string]bool{"path": r.Path != "", "host": r.Host != "", "protocol": r.Protocol != ""}
	for header := range r.ToBackend {
		wants["request "+header] = true
	}
	if s.Echo == nil {
		for _, of := range slices.Sorted(maps.Keys(wants)) {
			if wants[of] {
				c.doubt(of, notVisible)
			}
		}
		return
	}
	target := s.Echo.Path
	if s.Echo.Query != "" {
		target += "?" + s.Echo.Query
	}
	for _, part := range []Difference{{"path", r.Path, target}, {"host", r.Host, s.Echo.Host}, {"protocol", r.Protocol, s.Echo.Proto}} {
		if part.Want != "" && part.Want != part.Got {
			c.differs(part.Of, part.Want, part.Got)
		}
	}
	for _, header := range slices.Sorted(maps.Keys(r.ToBackend)) {
		c.header("request "+header, r.ToBackend[header], s.Echo.Headers.Values(header))
	}
}

// seenWords returns an answer as text. The text has the syntax in which a line of a test writes the expected answer.
// It is "" if the request was not sent.
func seenWords(s Seen) string {
	switch {
	case s.Unsent != "":
		return ""
	case s.Late:
		return "no answer in time"
	case s.Closed != "":
		return closed + " (" + s.Closed + ")"
	case s.Echo != nil && s.Status == http.StatusOK:
		return s.Echo.Backend
	case s.Echo != nil:
		return fmt.Sprintf("%d of %s", s.Status, s.Echo.Backend)
	case s.Status == 0:
		return "an open connection"
	case s.Headers.Get(upstreamTime) != "":
		return fmt.Sprintf("%d of a backend", s.Status)
	case s.Headers.Get("Location") != "":
		return fmt.Sprintf("%d %s", s.Status, s.Headers.Get("Location"))
	}
	return strconv.Itoa(s.Status)
}
