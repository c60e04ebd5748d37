package engine

import (
	"errors"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

// translation makes a translate.Result from each store.Change, and recovers from panics of the translator. It
// finds the objects that the translator cannot process, and applies a replacement of each (isolate.go): these
// objects are withheld. If a panic left the translator inconsistent, translation makes a new translator.
type translation struct {
	translator  translator
	options     translate.Options
	translators func(translate.Options) translator // makes a translator
	rehearsal   func() publisher                   // makes a server without clients

	reader *reader // has all objects of the folder
	log    zerolog.Logger
	// stop returns a memo.Stop that ends an attempt after the CPU time limit. If yields is true, the memo.Stop also
	// ends the attempt when the folder has a newer state.
	stop func(limit time.Duration, yields bool) memo.Stop

	phase    phase
	pending  store.Change          // changes that the translator has not processed completely
	sent     store.Change          // what the translator processed since the last publication
	rejected translate.Quarantine  // the newest quarantine
	trusted  translate.Quarantine  // the quarantine that was published last
	issuers  translate.Discoveries // the newest answers of issuers
	answered translate.Discoveries // the answers that were published last
	holders  translate.Holders     // who has what several objects want, as published last
	memory   memory
	ledger   ledger
	withheld *withholding
}

// translator has the methods of translate.Translator that the engine uses.
type translator interface {
	Take(stop memo.Stop, change store.Change) error
	Settle()
	Apply(change store.Change) translate.Result
	Preview() translate.Result
	Status(key manifest.Key) *status.Update
	Quarantine(set translate.Quarantine)
	Discover(set translate.Discoveries)
	Hold(set translate.Holders)
	Revert() (usable bool)
	Former(key manifest.Key) *manifest.Object
}

// phase says whether the server has got everything that the translator has made.
type phase string

const (
	agreed phase = ""      // the server has all that the translator has made
	fresh  phase = "fresh" // the translator is new, and the server may have more than it knows
	// ahead means that a Change is between the translator and the server. If a run begins in this phase, that
	// Change may be lost, and the run makes a new translator.
	ahead phase = "ahead"
)

// errLost is the error of a run in these cases:
//   - The translator cannot be reset to its earlier state.
//   - The translation fails although no object has changed (see distrust).
//   - The server panics, and the object that causes the panic is not found (see rehearse).
var errLost = errors.New("a mistake in gatefold: this change of the folder is not served, what served before is")

// newTranslation returns a translation that has translated nothing. It stores stop in the field of that name.
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

// onAllInterfaces returns the options with Bind set, so that Gateways without addresses listen on all
// interfaces. IPv6 is included only if the machine has it, because an address that cannot be bound would
// disable the whole listener.
func onAllInterfaces(options translate.Options) translate.Options {
	options.Bind = []string{"0.0.0.0"}
	if socket, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0); err == nil {
		_ = syscall.Close(socket) // it was only opened to see whether IPv6 works
		options.Bind = append(options.Bind, "::")
	}
	return options
}

// take translates a Change, and with it the earlier Changes that were not translated completely. An object that the
// translator cannot process is withheld: a replacement is translated instead (see withhold). In the phase ahead, the
// server may lack the last Result, or a panic may have left the translator inconsistent. Such a translator could make
// wrong routes, so take first makes a new translator. After an error, the next call processes the Change again.
func (t *translation) take(change store.Change) error {
	t.ledger.changed(change)
	t.pending = followed(t.pending, change)
	if t.phase == ahead {
		t.renew()
		t.sent = store.Change{}
	}
	switch err := t.recollect(); {
	case blamable(err):
		t.renew()
	case err != nil:
		return err
	}
	next := t.withheld.filter(t.pending)
	switch err := t.attempt(next, runDeadline, true); {
	case blamable(err):
		t.reportMistake("translate", err, next)
		if err := t.isolate(partsOf(next), err); err != nil {
			t.phase = ahead
			return err
		}
	case err != nil:
		return err
	}
	t.sent, t.pending = followed(t.sent, next), store.Change{}
	return nil
}

// close closes new routes that wait for others, and opens the others that were closed. The map has for whom each of them
// waits. The parameter now returns the version of the Store. The error is that of take.
func (t *translation) close(routes map[manifest.Key]string, now func(manifest.Key) *manifest.Object) error {
	var change store.Change
	for key, w := range t.withheld.closed() {
		if waits, still := routes[key]; still && waits == w.waits && now(key) == w.object {
			continue
		}
		t.withheld.release(key)
		if o := now(key); o != nil {
			change.Set = append(change.Set, o)
		}
	}
	for key, waits := range routes {
		if o := now(key); o != nil && t.withheld.all[key] == nil {
			t.withheld.add(key, &withheld{object: o, waits: waits, inForce: part{key: key, set: translate.Closed(o)}, since: time.Now()})
			change.Set = append(change.Set, o)
		}
	}
	if len(change.Set) == 0 {
		return nil
	}
	slices.SortFunc(change.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	return t.take(store.Change{Set: slices.CompactFunc(change.Set, func(a, b *manifest.Object) bool { return a.Key == b.Key })})
}

// result returns the Result of all Changes that were taken since the last one.
func (t *translation) result() translate.Result {
	renewed := t.phase == fresh
	t.phase = ahead // before Apply, which may panic
	result := t.translator.Apply(store.Change{})
	if renewed {
		result = t.ledger.complete(result, t.reader.all())
	}
	return result
}

// published records that the server has got this Result and all earlier ones.
func (t *translation) published(result translate.Result) {
	t.ledger.published(result)
	t.reader.store.Applied(t.withheld.formers())
	t.phase, t.trusted, t.answered, t.sent = agreed, t.rejected, t.issuers, store.Change{}
	t.holders, t.memory = result.Holders, memory{}
}

// quarantine passes to the translator which parts of resources Envoys rejected (translate.Quarantine). The next
// apply uses it.
func (t *translation) quarantine(rejected translate.Quarantine) {
	t.rejected = rejected
	t.translator.Quarantine(rejected)
}

// discover passes the answers of OpenID issuers to the translator. The next apply uses them.
func (t *translation) discover(issuers translate.Discoveries) {
	t.issuers = issuers
	t.translator.Discover(issuers)
}

// hold tells the translator who had the things that several objects want (translate.Holders). It is called only before
// the first publication.
func (t *translation) hold(holders translate.Holders) {
	t.holders = holders
	t.translator.Hold(holders)
}

// retry makes the next call of apply try again to translate the withheld objects: those for which gatefold itself
// failed.
func (t *translation) retry() { t.pending = followed(t.withheld.retry(), t.pending) }

// expect translates the saved state while the folder is still being read. The folder will probably contain its objects,
// so that less is left to translate once the folder is read. expect returns the translator's error, or a panic as an
// error. After an error, the next apply makes a new translator.
func (t *translation) expect() error {
	err := t.recollect()
	if err != nil {
		t.phase = ahead
	}
	return err
}

// restart makes a new translator without objects, and reads the saved state from the Store. It is called only before the
// first publication.
func (t *translation) restart() {
	t.phase, t.pending, t.memory = agreed, store.Change{}, memory{}
	t.memory.objects, t.memory.absent = t.reader.store.Remembered()
	t.translator = t.translators(t.options)
	t.translator.Discover(t.issuers)
	t.translator.Hold(t.holders)
}

// renew makes a new translator, with the newest quarantine and answers of issuers, and the holders that were published
// last. The next call of apply
// passes all objects to it.
func (t *translation) renew() {
	t.translator = t.translators(t.options)
	t.translator.Quarantine(t.rejected)
	t.translator.Discover(t.issuers)
	t.translator.Hold(t.holders)
	t.pending, t.phase, t.memory.known = t.reader.all(), fresh, false
}

// attempt passes a Change to the translator. It returns the translator's error, or a panic as an error. The
// parameter limit is the CPU time that the attempt may use; deadlinePerObject is added for each object. If yields
// is true, the attempt also ends early when the folder has a newer state.
func (t *translation) attempt(change store.Change, limit time.Duration, yields bool) (err error) {
	runtime.LockOSThread() // the CPU time of this thread is measured
	defer runtime.UnlockOSThread()
	objects := len(change.Set) + len(change.Gone) + len(change.Invalid)
	stop := t.stop(limit+time.Duration(objects)*deadlinePerObject, yields)
	if panicked := caught(func() { err = t.translator.Take(stop, change) }); panicked != nil {
		return panicked
	}
	return err
}

// reportMistake logs that a step ("translate" or "publish") cannot apply a Change as a whole. The error err is
// the reason; if it is a panic, its stack is logged, too.
func (t *translation) reportMistake(step string, err error, change store.Change) {
	line := t.log.Error().Str("step", step).Int("changed", len(change.Set)+len(change.Gone)+len(change.Invalid))
	describeMistake(line, err).
		Msg("a mistake in gatefold: this change cannot be applied as a whole; gatefold looks for the object that is the cause; please report it")
}
