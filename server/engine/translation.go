package engine

import (
	"errors"
	"runtime"
	"slices"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

// translation makes a translate.Result from each store.Change. It gives the translator a replacement of each object that
// is withheld. If a panic left the translator inconsistent, translation makes a new translator.
type translation struct {
	translator  translator
	options     translate.Options
	translators func(translate.Options) translator // makes a translator

	reader *reader // has all objects of the folder
	log    zerolog.Logger
	stop   func() memo.Stop // makes what ends a translation early

	phase    phase
	pending  store.Change          // changes that the translator has not got
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

// errLost is the error of a run in which gatefold itself fails, whatever is taken back or replaced (pipeline.without).
var errLost = errors.New("a mistake in gatefold: this change of the folder is not served, what served before is")

// newTranslation returns a translation that has translated nothing. It stores stop in the field of that name.
func newTranslation(folder *reader, stop func() memo.Stop, log zerolog.Logger) *translation {
	t := &translation{
		options: onAllInterfaces(folder.folder.Routes), reader: folder, stop: stop, log: log,
		translators: folder.folder.translators,
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

// take translates a Change. In the phase ahead, the server may lack the last Result, or a panic may have left the
// translator inconsistent. Such a translator could make wrong routes, so take first makes a new translator. After an
// interruption, or a *translate.Fault, the next call continues the work.
func (t *translation) take(change store.Change) error {
	t.ledger.changed(change)
	t.pending = followed(t.pending, change)
	if t.phase == ahead {
		t.renew()
	}
	switch err := t.recollect(); {
	case isMistake(err):
		t.renew()
	case err != nil:
		return err
	}
	next := t.withheld.filter(t.pending)
	t.pending = store.Change{}
	return t.attempt(next)
}

// replace makes the next Change with an object have a replacement of it, because gatefold fails to translate it. If it has
// one, the next one replaces it: see replacements. It returns false if there is no other, or no object.
func (t *translation) replace(key manifest.Key, object *manifest.Object) bool {
	if object == nil {
		return false
	}
	w := t.withheld.all[key]
	if w == nil || w.object != object {
		w = &withheld{object: object}
	}
	all := replacements(object)
	if w.tried == len(all) {
		return false
	}
	w.inForce, w.waits = all[w.tried], ""
	w.tried++
	t.withheld.add(key, w)
	return true
}

// close closes new routes that wait for others, and opens the others that were closed. The map has for whom each of them
// waits. The parameter now returns the version of the Store. The caller takes the Change that close returns.
func (t *translation) close(routes map[manifest.Key]string, now func(manifest.Key) *manifest.Object) (change store.Change) {
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
			t.withheld.add(key, &withheld{object: o, waits: waits, inForce: part{key: key, set: translate.Closed(o)}})
			change.Set = append(change.Set, o)
		}
	}
	slices.SortFunc(change.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	change.Set = slices.CompactFunc(change.Set, func(a, b *manifest.Object) bool { return a.Key == b.Key })
	return change
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
	withheld := map[manifest.Key]struct{}{}
	for key := range t.withheld.all {
		withheld[key] = struct{}{}
	}
	t.reader.store.Applied(withheld)
	t.phase, t.trusted, t.answered = agreed, t.rejected, t.issuers
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

// attempt passes a Change to the translator. It returns the translator's error, or a panic as an error, after which the
// translator must not be used any more.
func (t *translation) attempt(change store.Change) (err error) {
	runtime.LockOSThread() // the CPU time of this thread is measured
	defer runtime.UnlockOSThread()
	if panicked := caught(func() { err = t.translator.Take(t.stop(), change) }); panicked != nil {
		t.phase = ahead
		return panicked
	}
	return err
}
