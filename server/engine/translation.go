package engine

import (
	"errors"
	"runtime"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
)

// translation makes a Result of each Change, and survives panics of the translator. It finds the
// objects that a Change cannot be applied with and withholds them (isolate.go). It replaces a
// translator that a panic left inconsistent.
type translation struct {
	translator  translator
	options     translate.Options
	translators func(translate.Options) translator // makes them
	rehearsal   func() publisher                   // makes a server without clients

	reader *reader // what there is
	log    zerolog.Logger
	// stop ends an attempt that takes more CPU time than limit or, where it yields, that a newer
	// Tree waits for.
	stop func(limit time.Duration, yields bool) memo.Stop

	phase    phase
	pending  store.Change          // what the translator has not come to the end of
	sent     store.Change          // what it came to the end of last
	rejected translate.Quarantine  // the newest
	trusted  translate.Quarantine  // the last that was published
	issuers  translate.Discoveries // what they answered
	answered translate.Discoveries // the last of it that was published
	ledger   ledger
	withheld *withholding
}

// translator is the part of translate.Translator that the engine uses.
type translator interface {
	Take(stop memo.Stop, change store.Change) error
	Apply(change store.Change) translate.Result
	Quarantine(set translate.Quarantine)
	Discover(set translate.Discoveries)
	Revert() (usable bool)
	Former(key manifest.Key) *manifest.Object
}

// phase is how far the server is behind the translator.
type phase string

const (
	agreed phase = ""      // the server has all that the translator has made
	fresh  phase = "fresh" // the translator is new, and the server has what it does not know of
	// ahead is set while a Change is on its way from the translator to the server. Found set, a
	// mistake lost the Change: the next one begins with a fresh translator.
	ahead phase = "ahead"
)

// errLost is the end of a run after which the translator cannot be brought to where it was.
var errLost = errors.New("a mistake in gatefold: this change of the folder is not served, what served before is")

func newTranslation(folder *reader, stop func(time.Duration, bool) memo.Stop, log zerolog.Logger) *translation {
	t := &translation{
		options: onAllInterfaces(folder.folder.Routes), reader: folder, stop: stop, log: log,
		translators: folder.folder.translators,
		rehearsal:   func() publisher { return server.New(server.Options{}, zerolog.Nop()) },
		ledger:      newLedger(), withheld: newWithholding(),
	}
	if t.translators == nil {
		t.translators = func(options translate.Options) translator { return translate.New(options) }
	}
	t.restart()
	return t
}

// onAllInterfaces makes Gateways without addresses listen on all interfaces, with IPv6 only if the
// machine has it: one address that cannot be bound would disable the whole listener.
func onAllInterfaces(options translate.Options) translate.Options {
	options.Bind = []string{"0.0.0.0"}
	if socket, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0); err == nil {
		_ = syscall.Close(socket) // it was opened to see whether it can be
		options.Bind = append(options.Bind, "::")
	}
	return options
}

// apply returns the Result of a Change, and of earlier ones that were not completed. It uses a new
// translator if a Change was lost by a panic: an inconsistent translator would serve wrong routes.
func (t *translation) apply(change store.Change) (result translate.Result, err error) {
	t.ledger.changed(change)
	t.pending = followed(t.pending, change)
	if t.phase == ahead {
		t.renew()
	}
	next := t.withheld.filter(t.pending)
	switch err := t.attempt(next, runDeadline, true); {
	case blamable(err):
		t.reportMistake("translate", err, next)
		if err := t.isolate(partsOf(next), err); err != nil {
			t.phase = ahead
			return result, err
		}
	case err != nil:
		return result, err
	}
	renewed := t.phase == fresh
	t.sent, t.pending, t.phase = next, store.Change{}, ahead // before Apply, which may panic
	result = t.translator.Apply(store.Change{})
	if renewed {
		result = t.ledger.complete(result, t.reader.all())
	}
	return result, nil
}

// published notes that the server has a Result and all before it.
func (t *translation) published(result translate.Result) {
	t.ledger.published(result)
	t.reader.store.Applied(t.withheld.formers())
	t.phase, t.trusted, t.answered = agreed, t.rejected, t.issuers
}

// quarantine stores what Envoys rejected, for the next apply.
func (t *translation) quarantine(rejected translate.Quarantine) {
	t.rejected = rejected
	t.translator.Quarantine(rejected)
}

// discover stores the answers of issuers, for the next apply.
func (t *translation) discover(issuers translate.Discoveries) {
	t.issuers = issuers
	t.translator.Discover(issuers)
}

// retry makes the next Change include the withheld objects.
func (t *translation) retry() { t.pending = followed(t.withheld.retry(), t.pending) }

// expect translates what the first Change will probably bring. The error is the translator's; then
// the next Change uses a new translator.
func (t *translation) expect(change store.Change) error {
	err := t.attempt(change, runDeadline, true)
	if err != nil {
		t.phase = ahead
	}
	return err
}

// restart uses a new translator. It is called only before the first publication.
func (t *translation) restart() {
	t.phase, t.pending = agreed, store.Change{}
	t.translator = t.translators(t.options)
	t.translator.Discover(t.issuers)
}

// renew makes a new translator, which must still get all objects.
func (t *translation) renew() {
	t.translator = t.translators(t.options)
	t.translator.Quarantine(t.rejected)
	t.translator.Discover(t.issuers)
	t.pending, t.phase = t.reader.all(), fresh
}

// attempt passes a Change to the translator. It returns a panic as an error.
func (t *translation) attempt(change store.Change, limit time.Duration, yields bool) (err error) {
	runtime.LockOSThread() // its CPU time is read
	defer runtime.UnlockOSThread()
	objects := len(change.Set) + len(change.Gone) + len(change.Invalid)
	stop := t.stop(limit+time.Duration(objects)*deadlinePerObject, yields)
	if panicked := caught(func() { err = t.translator.Take(stop, change) }); panicked != nil {
		return panicked
	}
	return err
}

// reportMistake logs why a step cannot apply a Change as a whole.
func (t *translation) reportMistake(step string, err error, change store.Change) {
	line := t.log.Error().Str("step", step).Int("changed", len(change.Set)+len(change.Gone)+len(change.Invalid))
	describeMistake(line, err).
		Msg("a mistake in gatefold: this change cannot be applied as a whole; gatefold looks for the object that is the cause; please report it")
}
