package translate

import (
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Result is what one Change made of the configuration. It is never changed
// after it was handed out.
type Result struct {
	// Delta holds the resources that changed, and no others, sorted by Gateway,
	// type and name.
	Delta []xds.Update
	// Infra holds what changed of what Gateways need of their machine, sorted by
	// Gateway.
	Infra []ir.InfraUpdate
	// Status holds the changed statuses, sorted by key.
	Status []status.Update
	// Problems holds every problem that stands now, sorted. They name object
	// and field; store.Locate adds file and line. It is the list of the Result before
	// (store.SameProblems) where none changed.
	Problems []store.Problem
	// View gives the routes as they are tried, for explain. It is built when
	// asked for the first time, may be called from any goroutine, and always
	// shows the state after this Result.
	View func() *ir.View
	// Certificates are those that Envoys are given, sorted by Secret.
	Certificates []ir.Certificate
	// Authorities are the objects by whose certificates Envoys know back ends and
	// clients, sorted.
	Authorities []ir.Authorities
	// Rebuilt names the rules that ran, when Options.Trace is set.
	Rebuilt []string
	// Work counts what was encoded.
	Work Work
}

// Work counts what was encoded for tables; what is joined from kept bytes is not in it.
type Work struct {
	// Routes were encoded from rules, some of them again for a host with policies.
	Routes int
	// Hosts were encoded: Lists with all of their routes, the others with the Leaves that
	// changed; LeafRoutes are the routes in those.
	Hosts, Lists, Leaves, LeafRoutes int
	// Bytes are those of Lists and Leaves, and of what stands around the leaves.
	Bytes int
}

// Expired gives a warning for each certificate in use that no client accepts at a time;
// it serves on: whether a client minds is the client's affair. So it does for each bundle of
// authorities that has ended as a whole: what they signed is refused.
func (r *Result) Expired(now time.Time) []store.Problem {
	var problems []store.Problem
	for _, c := range r.Certificates {
		p := store.Problem{Severity: store.Warning, Object: c.Secret, Field: "data[" + string(keypair.Certificate) + "]"}
		switch {
		case now.After(c.NotAfter):
			p.Code, p.Hint = "CertificateExpired", "renew it"
			p.Message = "the certificate ended on " + c.NotAfter.UTC().Format(time.DateOnly)
		case now.Before(c.NotBefore):
			p.Code, p.Hint = "CertificateNotYetValid", "wait, or set the clock of this machine"
			p.Message = "the certificate begins on " + c.NotBefore.UTC().Format(time.DateOnly)
		default:
			continue
		}
		problems = append(problems, p)
	}
	for _, a := range r.Authorities {
		if now.After(a.NotAfter) {
			problems = append(problems, store.Problem{
				Code: "AuthoritiesExpired", Severity: store.Warning, Object: a.Object, Field: "data[" + string(keypair.Authorities) + "]",
				Message: "the last certificate of an authority ended on " + a.NotAfter.UTC().Format(time.DateOnly) + ": what they signed is refused",
				Hint:    "renew them",
			})
		}
	}
	return problems
}
