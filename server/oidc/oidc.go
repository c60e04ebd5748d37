// Package oidc asks OpenID providers for their discovery documents, in the background, and
// remembers the last one that could be used. Nothing waits for an answer.
//
// Who writes the folder chooses what is asked, so that a question must not reach what its author
// does not: only https, only public addresses and those of Options.Networks, no redirect, no proxy, a bounded
// number of issuers, bytes and seconds (docs/design/policies.md).
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

// The times between two questions to an issuer. Each is shortened at random by up to a tenth, so that
// many gatefolds do not ask at the same moment.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	refresh    = time.Hour
)

// maxIssuers limits the issuers that are asked.
const maxIssuers = 64

// Workers is how many issuers may be asked at the same time: Run is called so often.
const Workers = 4

// Options configure an Asker.
type Options struct {
	// Networks may be connected to beside public addresses.
	Networks []netip.Prefix
	// Roots are the CA certificates of issuers; nil is those of the system.
	Roots *x509.CertPool
	// Refresh is the time after which a usable document is asked for again; 0 means an hour.
	Refresh time.Duration
	// File keeps the last usable documents; "" is none.
	File string
	// Changed is called after what is known has changed, without locks. Calls may overlap.
	Changed func()
	Log     zerolog.Logger
}

// Asker asks issuers. Any goroutine may use it.
type Asker struct {
	options Options
	client  *http.Client

	mu       sync.Mutex
	issuers  map[string]*issuer
	surplus  []string      // issuers that are wanted and not asked: they are too many
	announce bool          // surplus has changed
	wake     chan struct{} // closed when there may be something new to do

	saving sync.Mutex
}

// issuer is one issuer, and what is known of it.
type issuer struct {
	answer   ir.IssuerAnswer
	wanted   bool
	asking   bool
	due      time.Time
	failures int // in a row
}

// New returns an Asker that knows what Options.File has, and asks nothing yet.
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

// Answers returns what is known of each issuer.
func (a *Asker) Answers() map[string]ir.IssuerAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers()
}

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

// Want sets which issuers are asked. What is known of others is kept while there is room: a folder
// that is half read does not name them all.
func (a *Asker) Want(uris []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.issuers {
		one.wanted = false
	}
	for _, uri := range uris { // those that are known stay
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

// room reports whether one more issuer can be asked; it forgets one that is not wanted if need be.
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

// Run asks issuers, one after the other, until ctx ends.
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

// next waits for an issuer that is to be asked, and claims it; "" is for a change to announce. It returns
// false when ctx ends.
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

func (a *Asker) announces() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.announce
	a.announce = false
	return was
}

// earliest returns the issuer that is to be asked first, "" for none.
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

// ask asks one issuer, and notes what comes back. After a panic it is asked again as after a failure.
func (a *Asker) ask(ctx context.Context, uri string) {
	answer, failed := ir.IssuerAnswer{}, &fault{"a mistake in gatefold, which its log has", "please report it"}
	defer func() {
		if ctx.Err() == nil {
			a.note(uri, answer, failed)
		}
	}()
	answer, failed = fetch(ctx, a.client, uri)
}

// note takes in what came back: a document, unless failed is set. A failure changes nothing of an issuer
// whose endpoints are known.
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

// again is said behind each fault.
const again = "; it is asked again within a minute"

// kind returns a fault without what is quoted: an issuer that writes something else each time has nothing
// published again.
func kind(fault string) string {
	return regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllLiteralString(fault, "")
}

// early shortens a time by up to a tenth, at random.
func early(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/10+1)) //nolint:gosec // nobody gains by guessing it
}

// log notes the first failure in a row, and what changes.
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

// Unanswered returns how many issuers are asked, and how many of them had no usable answer the last time.
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

// known returns the usable documents.
func (a *Asker) known() map[string]ir.IssuerAnswer {
	all := a.Answers()
	maps.DeleteFunc(all, func(_ string, answer ir.IssuerAnswer) bool { return !answer.Known() })
	return all
}
