package translate

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Expiry tells from one Result to the next which certificates no client accepts at a time.
// It looks at them when there are others, or when the clock has come to where one of them
// begins or ends. The zero value is ready.
type Expiry struct {
	certificates []ir.Certificate
	authorities  []ir.Authorities
	problems     []manifest.Problem
	// problems hold from one time to before another, the zero time for ever.
	from, until time.Time
}

// At returns Result.Expired for a time, and the list of before (store.SameProblems) where it
// says the same.
func (e *Expiry) At(r *Result, now time.Time) []manifest.Problem {
	now = now.Round(0) // the clock alone: a monotonic reading would hide that it was set back
	holds := !now.Before(e.from) && (e.until.IsZero() || now.Before(e.until))
	if holds && oneList(r.Certificates, e.certificates) && oneList(r.Authorities, e.authorities) {
		return e.problems
	}
	e.certificates, e.authorities, e.from, e.until = r.Certificates, r.Authorities, now, time.Time{}
	for _, c := range r.Certificates {
		e.turns(c.NotBefore)
		e.turns(c.NotAfter.Add(1)) // it is accepted at that time itself
	}
	for _, a := range r.Authorities {
		e.turns(a.NotAfter.Add(1))
	}
	if problems := r.Expired(now); !slices.Equal(problems, e.problems) {
		e.problems = problems
	}
	return e.problems
}

// turns notes that something else is to be said from a time on.
func (e *Expiry) turns(at time.Time) {
	if at.After(e.from) && (e.until.IsZero() || at.Before(e.until)) {
		e.until = at
	}
}

// oneList tells, without looking at what is in them, that two lists are one and the same in memory.
func oneList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Expired returns a warning for each certificate in use that no client accepts at a time;
// it serves on: whether a client minds is the client's affair. So it does for each bundle of
// authorities that has ended as a whole: what they signed is refused.
func (r *Result) Expired(now time.Time) []manifest.Problem {
	var problems []manifest.Problem
	for _, c := range r.Certificates {
		p := manifest.Problem{Severity: manifest.Warning, Object: c.Secret, Field: "data[" + string(keypair.Certificate) + "]"}
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
			problems = append(problems, manifest.Problem{
				Code: "AuthoritiesExpired", Severity: manifest.Warning, Object: a.Object, Field: "data[" + string(keypair.Authorities) + "]",
				Message: "the last certificate of an authority ended on " + a.NotAfter.UTC().Format(time.DateOnly) + ": what they signed is refused",
				Hint:    "renew them",
			})
		}
	}
	return problems
}
