// Package oidc requests the discovery documents of OpenID providers (issuers) in the background, and keeps the
// last usable document of each. No caller waits for an answer.
//
// Authors of objects choose the URLs to request. They must not reach private networks through gatefold. So
// requests use only https, and connect only to public addresses and to those of Options.Networks. They follow
// no redirect and use no proxy. The number of issuers, the size of a document and the time of a request are
// limited (docs/design/policies.md).
package oidc

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate/ir"
)

// firstRetry is the time until a failed request is repeated. It doubles with each failure up to lastRetry.
// refresh is the time until a usable document is requested again. Each time is shortened at random by up to a
// tenth, so that many gatefolds do not send requests at the same moment.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	refresh    = time.Hour
)

// maxIssuers limits how many issuers are requested.
const maxIssuers = 64

// Workers is how many issuers may be requested at the same time. That many goroutines must call Run.
const Workers = 4

// Options configure an Asker.
type Options struct {
	// Networks are ranges of addresses that may be connected to in addition to public addresses.
	Networks []netip.Prefix
	// Roots are the CA certificates of issuers. If nil, they are the system's.
	Roots *x509.CertPool
	// Refresh is the time after which a usable document is requested again; 0 means an hour.
	Refresh time.Duration
	// File is the path of a file for the last usable documents. If it is "", they are not saved.
	File string
	// Changed is called without locks after an answer in the result of Answers has changed. Calls may overlap.
	Changed func()
	Log     zerolog.Logger
}

// Asker requests discovery documents of issuers. It is safe for concurrent use.
type Asker struct {
	options Options
	client  *http.Client

	mu       sync.Mutex
	issuers  map[string]*issuer
	surplus  []string      // wanted issuers beyond maxIssuers; they are not requested
	announce bool          // surplus has changed
	wake     chan struct{} // closed when there may be new work

	saving sync.Mutex
}

// issuer is what an Asker knows of one OpenID provider, and when it requests the document again.
type issuer struct {
	answer ir.IssuerAnswer
	wanted bool
	// asking is true while a request is being sent for the issuer.
	asking bool
	// due is when the next request is sent.
	due      time.Time
	failures int // in a row
}

// New returns an Asker that has the documents of Options.File. It sends no request before Run is called.
func New(options Options) *Asker {
	if options.Refresh == 0 {
		options.Refresh = refresh
	}
	a := &Asker{options: options, client: newClient(options.Networks, options.Roots), issuers: map[string]*issuer{}, wake: make(chan struct{})}
	for uri, answer := range a.load() {
		a.issuers[uri] = &issuer{answer: answer}
	}
	return a
}

// Answers returns the endpoints or the fault of each issuer, by URI. An issuer without an answer yet is
// missing.
func (a *Asker) Answers() map[string]ir.IssuerAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers()
}

// answers returns the result of Answers. The caller must have locked a.mu.
func (a *Asker) answers() map[string]ir.IssuerAnswer {
	all := map[string]ir.IssuerAnswer{}
	for uri, one := range a.issuers {
		if one.answer != (ir.IssuerAnswer{}) {
			all[uri] = one.answer
		}
	}
	for _, uri := range a.surplus {
		all[uri] = ir.IssuerAnswer{
			Fault: fmt.Sprintf("it is not asked, as gatefold asks at most %d issuers", maxIssuers),
			Hint:  "write authorizationEndpoint and tokenEndpoint, or remove extensions of other issuers",
		}
	}
	return all
}

// Want sets the issuers (OpenID providers) whose documents are wanted. An Asker requests the documents of at most
// maxIssuers issuers. For each further issuer, Answers returns a fault. The answers of issuers that are no longer
// wanted are kept while there is room, because a folder that is only partly read does not name all issuers.
func (a *Asker) Want(uris []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.issuers {
		one.wanted = false
	}
	for _, uri := range uris { // keep the known issuers first
		if one := a.issuers[uri]; one != nil {
			one.wanted = true
		}
	}
	var surplus []string
	for _, uri := range uris {
		switch {
		case a.issuers[uri] != nil:
		case a.room():
			a.issuers[uri] = &issuer{wanted: true}
		default:
			surplus = append(surplus, uri)
		}
	}
	a.announce = a.announce || !slices.Equal(surplus, a.surplus)
	a.surplus = surplus
	close(a.wake)
	a.wake = make(chan struct{})
}

// room reports whether one more issuer can be added to a.issuers. If a.issuers already has maxIssuers, room first
// removes an issuer that is not wanted and is not being requested. If there is no such issuer, it returns false.
func (a *Asker) room() bool {
	if len(a.issuers) < maxIssuers {
		return true
	}
	for uri, one := range a.issuers {
		if !one.wanted && !one.asking {
			delete(a.issuers, uri)
			return true
		}
	}
	return false
}

// Run requests documents of issuers, one after the other, until ctx ends. Several goroutines may call it, see
// Workers.
func (a *Asker) Run(ctx context.Context) {
	for {
		uri, ok := a.next(ctx)
		switch {
		case !ok:
			return
		case uri == "":
			a.options.Changed()
		default:
			a.ask(ctx, uri)
		}
	}
}

// next waits until the document of an issuer must be requested, marks this issuer as being requested, and returns
// its URI. If uri is "", the caller must call a.options.Changed instead. If ok is false, ctx has ended.
func (a *Asker) next(ctx context.Context) (uri string, ok bool) {
	for {
		if a.announces() {
			return "", true
		}
		uri, at, wake := a.earliest()
		wait := time.Until(at)
		if uri == "" {
			wait = refresh
		}
		if uri != "" && wait <= 0 {
			if a.claim(uri) {
				return uri, true
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", false
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// announces reports whether the issuers that are not requested because there are too many (a.surplus) have
// changed since the last call. If it returns true, the caller must call Options.Changed.
func (a *Asker) announces() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.announce
	a.announce = false
	return was
}

// earliest returns the URI of the wanted issuer whose next request is due first, and the time of that request. It
// skips issuers that are being requested. If there is no issuer to request, uri is "". The channel wake is closed
// when the result may have changed.
func (a *Asker) earliest() (uri string, at time.Time, wake <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, one := range a.issuers {
		if one.wanted && !one.asking && (uri == "" || one.due.Before(at)) {
			uri, at = name, one.due
		}
	}
	return uri, at, a.wake
}

// claim marks an issuer as being requested, and returns true. It returns false, and marks nothing, if the issuer
// is not wanted any more or is already being requested.
func (a *Asker) claim(uri string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.issuers[uri]
	if one == nil || !one.wanted || one.asking {
		return false
	}
	one.asking = true
	return true
}

// ask requests the document of one issuer, and passes the result to the method note. If the request panics, ask
// passes a failure to note, and does not stop the panic. If ctx has ended, ask does not call note.
func (a *Asker) ask(ctx context.Context, uri string) {
	answer, failed := ir.IssuerAnswer{}, &fault{"a mistake in gatefold, which its log has", "please report it"}
	defer func() {
		if ctx.Err() == nil {
			a.note(uri, answer, failed)
		}
	}()
	answer, failed = fetch(ctx, a.client, uri)
}

// note records the result of a request, and sets when the next request is due. The parameter failed is nil after
// a success. A failure does not change endpoints that are already known. If the published answer changes, note
// calls Options.Changed; after a success, it saves the documents first. An issuer that is no longer wanted gives
// its place to the first issuer of a.surplus.
func (a *Asker) note(uri string, answer ir.IssuerAnswer, failed *fault) {
	a.mu.Lock()
	one := a.issuers[uri]
	before, failures := one.answer, one.failures
	one.asking = false
	if failed == nil {
		one.answer, one.failures, one.due = answer, 0, time.Now().Add(early(a.options.Refresh))
	} else {
		one.failures++
		one.due = time.Now().Add(early(min(lastRetry, firstRetry<<min(failures, 10))))
		if !before.Known() && kind(before.Fault) != kind(failed.message+again) {
			one.answer = ir.IssuerAnswer{Fault: failed.message + again, Hint: failed.hint}
		}
	}
	changed := one.answer != before
	if !one.wanted && len(a.surplus) > 0 { // its place is free now
		delete(a.issuers, uri)
		a.issuers[a.surplus[0]] = &issuer{wanted: true}
		a.surplus, a.announce = a.surplus[1:], true
	}
	close(a.wake)
	a.wake = make(chan struct{})
	a.mu.Unlock()
	a.log(uri, failed, failures, changed)
	if !changed {
		return
	}
	if failed == nil {
		a.save()
	}
	a.options.Changed()
}

// again is appended to the fault of each failed request.
const again = "; it is asked again within a minute"

// kind returns the text of a fault without the quoted parts. Two faults of the same kind count as equal. So an
// issuer that answers with another text each time does not cause a new publication each time.
func kind(fault string) string {
	return regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllLiteralString(fault, "")
}

// early returns the duration d, shortened by a random part of at most a tenth.
func early(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/10+1)) //nolint:gosec // no secret depends on it
}

// log logs the result of a request: the first of several failures in a row, each change of the answer, and the
// first success after failures. The parameter failures is the number of failures in a row before this result.
func (a *Asker) log(uri string, failed *fault, failures int, changed bool) {
	switch {
	case failed != nil && (failures == 0 || changed):
		a.options.Log.Warn().Str("issuer", uri).Str("answer", failed.message).Str("again", "within a minute").
			Msg("an issuer has no usable discovery document; endpoints that are known stay in force")
	case failed == nil && changed:
		a.options.Log.Info().Str("issuer", uri).Msg("the endpoints of an issuer are in force")
	case failed == nil && failures > 0:
		a.options.Log.Info().Str("issuer", uri).Msg("an issuer answers again")
	}
}

// Unanswered returns the number of wanted issuers, and for how many of them the last request failed. Issuers beyond
// maxIssuers do not count.
func (a *Asker) Unanswered() (asked, failing int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.issuers {
		if one.wanted {
			asked++
			failing += min(one.failures, 1)
		}
	}
	return asked, failing
}

// known returns the answers that have endpoints, by issuer.
func (a *Asker) known() map[string]ir.IssuerAnswer {
	all := a.Answers()
	maps.DeleteFunc(all, func(_ string, answer ir.IssuerAnswer) bool { return !answer.Known() })
	return all
}
