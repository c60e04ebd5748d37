package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

// Translator translates Changes. It keeps its results, so that a Change costs only what it changes. Only one
// goroutine may use it at a time.
type Translator struct{ rules rules }

// rules is the interface by which a Translator uses its implementation, the type translator. The interface hides
// the generic types of that type's fields. A package that imports a struct with such fields compiles all their
// methods again: without this interface, the packages that import Translator took five times as long to compile
// (docs/design/rules.md#compile-time).
type rules interface {
	Apply(change store.Change) Result
	Take(stop memo.Stop, change store.Change) error
	Settle()
	Preview() Result
	Status(key manifest.Key) *status.Update
	Quarantine(set Quarantine)
	Hold(set Holders)
	Discover(set Discoveries)
}

// New returns a Translator without objects.
func New(options Options) *Translator { return &Translator{newTranslator(options)} }

// Apply applies a Change and returns the changed parts of the configuration. The state after several Changes is
// the same as after one Change with all objects and the same Holders (docs/design/flow.md). What the Result gives to
// whom counts as served: for the next Change, an object that has a thing is its incumbent (see Holders).
func (t *Translator) Apply(change store.Change) Result { return t.rules.Apply(change) }

// Take applies a Change as Apply does, but returns no Result: the next Apply returns the results of both
// Changes. So objects can be translated before the whole folder is read. If stop is not nil, it can interrupt
// the work, and Take returns the error of stop. If a rule panics, Take returns a *Fault. In both cases, the next Take or
// Apply continues the work. Any other panic leaves the Translator inconsistent: it must not be used any more.
func (t *Translator) Take(stop memo.Stop, change store.Change) error {
	return t.rules.Take(stop, change)
}

// Settle makes what is translated count as served, as Apply does, but returns no Result: for the next Change, an object
// that has a thing is its incumbent. It takes the place of Hold for objects that an earlier Translator served, after Take
// has taken these objects and no others.
func (t *Translator) Settle() { t.rules.Settle() }

// Preview returns the Result of what Take has taken, without the fields that have only changes (Delta, Infra and Status).
// The next Apply returns those of all Changes since the last Apply, however often Preview is called between.
func (t *Translator) Preview() Result { return t.rules.Preview() }

// Status returns the present status of an object, after Take. It returns nil if the object has none.
func (t *Translator) Status(key manifest.Key) *status.Update { return t.rules.Status(key) }

// Quarantine gives the Translator a new Quarantine, which has what Envoys rejected. It replaces the old Quarantine.
// The next Take or Apply uses it.
func (t *Translator) Quarantine(set Quarantine) { t.rules.Quarantine(set) }

// Hold tells a new Translator who has the things that several objects want: those of Result.Holders of an earlier
// Translator. They apply until the next Apply returns. Then what its Result gives to whom applies.
func (t *Translator) Hold(set Holders) { t.rules.Hold(set) }

// Discover gives the Translator new Discoveries, the answers of OpenID issuers. They replace the old Discoveries. The
// next Take or Apply uses them.
func (t *Translator) Discover(set Discoveries) { t.rules.Discover(set) }
