package translate

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Expiry finds the certificates that have expired or are not yet valid at a given time, and the bundles of CA
// certificates that have expired. Its method At keeps the last result. At examines the certificates and bundles again
// only if they changed since the last call, if one of them expired or became valid since then, or if the clock was
// set back. The zero value is ready for use.
type Expiry struct {
	certificates []ir.Certificate
	authorities  []ir.Authorities
	problems     []manifest.Problem
	// The field from is the time for which the problems were computed. The field until is the first time after it at
	// which the problems can change, or zero if they cannot change with time.
	from, until time.Time
}

// At returns the problems that Result.Expired returns for the time now. They are computed again only if they
// can have changed since the last call. If they are equal to the last ones, At returns the same slice (see
// store.SameProblems).
func (e *Expiry) At(r *Result, now time.Time) []manifest.Problem {
	now = now.Round(0) // wall clock only: the monotonic reading would hide that the clock was set back
	holds := !now.Before(e.from) && (e.until.IsZero() || now.Before(e.until))
	if holds && oneList(r.Certificates, e.certificates) && oneList(r.Authorities, e.authorities) {
		return e.problems
	}
	e.certificates, e.authorities, e.from, e.until = r.Certificates, r.Authorities, now, time.Time{}
	for _, c := range r.Certificates {
		e.turns(c.NotBefore)
		e.turns(c.NotAfter.Add(1)) // the certificate is still valid at NotAfter
	}
	for _, a := range r.Authorities {
		e.turns(a.NotAfter.Add(1))
	}
	if problems := r.Expired(now); !slices.Equal(problems, e.problems) {
		e.problems = problems
	}
	return e.problems
}

// turns is called for each time (at) at which a certificate expires or becomes valid. The problems can change at
// this time. turns sets e.until to the earliest of these times that is later than e.from.
func (e *Expiry) turns(at time.Time) {
	if at.After(e.from) && (e.until.IsZero() || at.Before(e.until)) {
		e.until = at
	}
}

// oneList reports whether two lists are the same slice in memory. Two empty lists are the same.
func oneList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Expired returns a warning for each certificate in use that has expired or is not yet valid. gatefold still
// serves the certificate, because the client decides whether to accept it. Expired also returns a warning for
// each bundle in which all CA certificates have expired. Envoy then rejects every certificate that they signed.
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
