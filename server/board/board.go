// Package board has the newest status of every object, and returns it in the form that users see. That form
// also has what translate does not know: whether Envoys accepted the configuration (in the condition
// Programmed), the times of transitions, and which objects are stale.
//
// A Board has its own lock. The server may call Publish and Judge while the server's lock is locked. The board
// never calls the server while the board is locked. The shown form of a status is made when it is read, because
// copies of all statuses would need more memory than the statuses. docs/design/status.md has the reasons.
package board

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// Verdict says whether a Gateway is programmed. It is the condition Programmed, computed from the answers of the
// Gateway's Envoys.
type Verdict struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
	// Unbound has the Envoy listeners whose address could not be bound, each with Envoy's error. These listeners
	// do not affect Status and Reason. If Reason is Invalid, Unbound is nil, and the errors may be in Message
	// instead. Otherwise Message does not mention these listeners.
	Unbound map[string]string
}

// Equal reports whether both verdicts are the same.
func (v Verdict) Equal(other Verdict) bool {
	return v.Status == other.Status && v.Reason == other.Reason && v.Message == other.Message && maps.Equal(v.Unbound, other.Unbound)
}

// Board has the status of all objects. It may be used from any goroutine.
type Board struct {
	// refresh brings the messages of outdated verdicts up to date, and calls Judge with each verdict that changed.
	// The board calls refresh before it reads verdicts (List, Feed.Take), while mu is not locked.
	refresh func()

	mu        sync.Mutex
	published bool
	objects   map[manifest.Key]*object
	verdicts  map[string]Verdict // by Gateway
	// judged has, for each Gateway, the objects whose status shows the verdict on this Gateway: the Gateway itself
	// and its ListenerSets.
	judged map[string]map[manifest.Key]struct{}
	// judgements counts the calls of Judge.
	judgements uint64
	stale      staleObjects
	feed       *Feed  // nil if Follow was not called
	last       stamps // the transition times of the object that changed last (see the method stamp)
}

// New returns an empty board. The board calls the function refresh before verdicts are read. Then refresh must
// call Judge for each Gateway whose verdict has another message now.
func New(refresh func()) *Board {
	return &Board{
		refresh: refresh, objects: map[manifest.Key]*object{}, verdicts: map[string]Verdict{},
		judged: map[string]map[manifest.Key]struct{}{},
	}
}

// Publish stores the statuses that changed, and the list of stale objects.
func (b *Board) Publish(updates []status.Update, stale []store.Stale) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, u := range updates {
		b.set(u, now)
	}
	b.setStale(stale)
	if !b.published {
		b.published = true
		b.feed.note()
	}
}

// Judge stores the verdict on a Gateway: whether its Envoys accepted the configuration. From now on, the statuses
// of the Gateway and of its ListenerSets show this verdict.
func (b *Board) Judge(gateway string, v Verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := map[manifest.Key]sight{}
	for key := range b.judged[gateway] {
		before[key], _ = b.sees(key)
	}
	b.verdicts[gateway] = v
	b.judgements++
	now := time.Now()
	for key, seen := range before {
		b.stamp(key, seen, now)
	}
}

// Judgements returns a number that changes with each call of Judge.
func (b *Board) Judgements() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.judgements
}

// Refresh brings the messages of outdated verdicts up to date. The caller must not have locked what the function of New
// locks.
func (b *Board) Refresh() { b.refresh() }

// Forget removes the verdict on a Gateway.
func (b *Board) Forget(gateway string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.verdicts, gateway)
}

// Outdate wakes the reader of the feed, because the message of the verdict on a Gateway may have changed.
func (b *Board) Outdate(gateway string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.judged[gateway]) > 0 {
		b.feed.note()
	}
}

// OutdateAny wakes the reader of the feed, because the message of the verdict on any Gateway may have changed.
func (b *Board) OutdateAny() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.judged) > 0 {
		b.feed.note()
	}
}

// Knows reports whether a Gateway has a status.
func (b *Board) Knows(gateway string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.objects[ir.GatewayKey(gateway)] != nil
}

// PortOf returns the field in which the user sets the port of an Envoy listener. The parameter gateway is the
// Gateway, and the parameter listener is the name of the Envoy listener. The field is in the Gateway or in one of its
// ListenerSets. If several of these objects define the port, PortOf returns the field of the first object by key. If
// none defines it, PortOf returns the zero Field.
func (b *Board) PortOf(gateway, listener string) manifest.Field {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(b.judged[gateway]), manifest.CompareKeys) {
		o := b.objects[key]
		for _, name := range slices.Sorted(maps.Keys(o.envoy)) {
			if o.envoy[name] == listener {
				return manifest.Field{Object: key, Path: o.portField(name)}
			}
		}
	}
	return manifest.Field{}
}

// Known returns the statuses with the verdicts on Gateways, but without transition times, in no order. It also returns
// the stale objects. Call Refresh before, so that no message of a verdict is outdated.
func (b *Board) Known() (statuses []status.Update, stale map[manifest.Key]store.Stale) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stale = make(map[manifest.Key]store.Stale, len(b.stale.objects))
	for key, s := range b.stale.objects {
		stale[key] = *s
	}
	for key, o := range b.objects {
		update := status.Update{Key: key, Generation: o.generation, Gateway: o.gateway, Envoy: o.envoy, Status: o.status, State: o.state}
		if o.gateway != "" {
			update.Status = sight{object: *o, verdict: b.verdicts[o.gateway]}.joined()
		}
		statuses = append(statuses, update)
	}
	return statuses, stale
}

// Follow returns the feed, which reports changes of statuses to one reader. It must be called before the first
// Publish, and only once.
func (b *Board) Follow() *Feed {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.feed = newFeed(b)
	return b.feed
}

// sees returns all that the board knows of an object now (see sight). The result ok is true if the object has a
// status, or if the object is stale: an older version of it is served (store.Stale). The caller has locked b.mu.
func (b *Board) sees(key manifest.Key) (seen sight, ok bool) {
	stale := b.stale.objects[key]
	o := b.objects[key]
	if o == nil {
		return sight{stale: stale, policies: b.stale.policies[key]}, stale != nil
	}
	return sight{*o, b.verdicts[o.gateway], stale, b.stale.policies[key]}, true
}

// keys yields every object that has a status or is stale, in no order. The caller has locked b.mu.
func (b *Board) keys() iter.Seq[manifest.Key] {
	return func(yield func(manifest.Key) bool) {
		for key := range b.objects {
			if !yield(key) {
				return
			}
		}
		for key := range b.stale.objects {
			if b.objects[key] == nil && !yield(key) {
				return
			}
		}
	}
}

// set stores the new status of an object, and reports the object to the feed. If u.Status is nil, set removes the
// object's status; for a Gateway it then also removes the verdict.
func (b *Board) set(u status.Update, now time.Time) {
	before, known := b.sees(u.Key)
	if known && before.gateway != u.Gateway {
		delete(b.judged[before.gateway], u.Key)
		if len(b.judged[before.gateway]) == 0 {
			delete(b.judged, before.gateway)
		}
	}
	if u.Status == nil {
		b.feed.note(u.Key)
		delete(b.objects, u.Key)
		if gateway, ok := GatewayOf(u.Key); ok {
			delete(b.verdicts, gateway)
		}
		return
	}
	if u.Gateway != "" {
		if b.judged[u.Gateway] == nil {
			b.judged[u.Gateway] = map[manifest.Key]struct{}{}
		}
		b.judged[u.Gateway][u.Key] = struct{}{}
	}
	b.objects[u.Key] = &object{generation: u.Generation, gateway: u.Gateway, envoy: u.Envoy, status: u.Status, state: u.State}
	b.stamp(u.Key, before, now)
}

// stamp is called after the status or verdict of an object changed. It sets the transition times of the object's
// conditions, and reports the object to the feed. The parameter before is the state of the object before the
// change. The parameter now is the current time. If two successive calls compute equal lists of transition times,
// both objects share one list. This saves memory after a start, when many objects have equal times.
func (b *Board) stamp(key manifest.Key, before sight, now time.Time) {
	seen, _ := b.sees(key)
	since := seen.stamps(before, now)
	if slices.Equal(since, b.last) {
		since = b.last
	}
	b.last = since
	b.objects[key].since = since
	b.feed.note(key)
}

// GatewayOf returns "namespace/name" of a Gateway's key. ok is false if key is not that of a Gateway.
func GatewayOf(key manifest.Key) (gateway string, ok bool) {
	return key.Namespace + "/" + key.Name, key.Group == gwv1.GroupName && key.Kind == "Gateway"
}
