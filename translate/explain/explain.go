package explain

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// Explain reports what happens to a request or a connection. It returns an error if the query names a Gateway
// that is not served, or if several Gateways fit. It also returns an error if regular expressions would take
// too long.
func Explain(f Facts, q Query) (*Report, error) {
	q = complete(q)
	if err := q.checkGateway(f.View); err != nil {
		return nil, err
	}
	if q.ForConnection() {
		return explainConnection(f, q)
	}
	a := Request(f.View, q)
	if len(a.Candidates) > 0 {
		return nil, fmt.Errorf("several Gateways listen on port %d for %s; choose one: --gateway %s",
			q.Port, hostname(q.Host), strings.Join(a.Candidates, " or --gateway "))
	}
	if a.Costly {
		return nil, fmt.Errorf("the question costs too much: the rules of %s have many regular expressions, and path or headers are long; ask with shorter ones", a.Domain)
	}
	b := &requestReporter{answer: a, reporter: reporter{facts: f, query: q, report: &Report{
		Request: RequestReport{Method: q.Method, URL: q.URL(), Headers: q.Headers},
		Status:  a.Outcome.Status, Location: a.Outcome.Location, Caveats: a.Outcome.Unless, NotMatched: a.Passed,
	}}}
	b.report.GRPCStatus = grpcWords(a.Outcome.GRPC, a.Outcome.Status)
	b.listener()
	b.route()
	b.backends()
	policies := newPolicyReporter(b)
	policies.add()
	b.nearMisses()
	b.notAccepted()
	b.bounded()
	b.outcome()
	b.problems()
	if f.Places != nil {
		b.report.locate(f.Places)
	}
	policies.place()
	b.report.redact(a.redaction(), q)
	return b.report, nil
}

// checkGateway returns an error if the query names a Gateway that the View does not have.
func (q Query) checkGateway(view *ir.View) error {
	var names []string
	for _, g := range view.Gateways {
		if g.Name == q.Gateway {
			return nil
		}
		names = append(names, g.Name)
	}
	switch {
	case q.Gateway == "":
		return nil
	case len(names) == 0:
		return fmt.Errorf("no Gateway %q serves; none does", q.Gateway)
	}
	return fmt.Errorf("no Gateway %q serves; those that do: %s", q.Gateway, strings.Join(nearest(q.Gateway, names), ", "))
}
