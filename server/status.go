package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// board holds the newest status of every object, as it is shown: Programmed is
// joined with what Envoy answered, and transitions are stamped. It is guarded by
// Server.mu.
type board struct {
	objects  map[store.Key]*object
	verdicts map[string]verdict // by Gateway
	// judged are the objects that a verdict is joined with, by Gateway: itself, and its
	// ListenerSets.
	judged map[string]map[store.Key]struct{}
	feed   *StatusFeed // nil where nobody follows
	// open are the Gateways that are not programmed. Of those in outdated, or of all
	// that are open, the verdict stands and its words may be others by now.
	open, outdated map[string]struct{}
	openOutdated   bool
	// suspended are those that stay programmed while an edit is on its way.
	suspended map[string]struct{}
}

// object is one object's status. Neither part is changed once it is stored.
type object struct {
	update status.Update
	shown  any
}

// verdict is what the Envoys of a Gateway say of it.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
	// unbound are the Envoy listeners whose address could not be bound, with Envoy's
	// words; the verdict is that of everything else.
	unbound map[string]string
}

func newBoard() board {
	return board{
		objects: map[store.Key]*object{}, verdicts: map[string]verdict{}, judged: map[string]map[store.Key]struct{}{},
		open: map[string]struct{}{}, outdated: map[string]struct{}{}, suspended: map[string]struct{}{},
	}
}

// set takes over a new status.
func (b *board) set(u status.Update) {
	o := b.objects[u.Key]
	if o != nil && o.update.Gateway != u.Gateway {
		delete(b.judged[o.update.Gateway], u.Key)
		if len(b.judged[o.update.Gateway]) == 0 {
			delete(b.judged, o.update.Gateway)
		}
	}
	if u.Status == nil {
		b.feed.note(u.Key)
		delete(b.objects, u.Key)
		if gateway, ok := gatewayOf(u.Key); ok {
			b.forget(gateway)
		}
		return
	}
	if o == nil {
		o = &object{}
		b.objects[u.Key] = o
	}
	o.update = u
	if u.Gateway != "" {
		if b.judged[u.Gateway] == nil {
			b.judged[u.Gateway] = map[store.Key]struct{}{}
		}
		b.judged[u.Gateway][u.Key] = struct{}{}
	}
	b.show(u.Key)
}

// judge shows the verdict in the status of every object that it is joined with.
func (b *board) judge(gateway string, v verdict) {
	b.verdicts[gateway] = v
	delete(b.outdated, gateway)
	if delete(b.open, gateway); v.status != metav1.ConditionTrue {
		b.open[gateway] = struct{}{}
	}
	for key := range b.judged[gateway] {
		b.show(key)
	}
}

// forget forgets the verdict on a Gateway.
func (b *board) forget(gateway string) {
	delete(b.verdicts, gateway)
	delete(b.open, gateway)
	delete(b.outdated, gateway)
	delete(b.suspended, gateway)
}

// outdate notes that the words of a verdict may be others by now.
func (b *board) outdate(gateway string) {
	b.outdated[gateway] = struct{}{}
	if len(b.judged[gateway]) > 0 {
		b.feed.note()
	}
}

// outdateOpen is outdate for all Gateways that are not programmed.
func (b *board) outdateOpen() {
	b.openOutdated = len(b.open) > 0
	if b.openOutdated && len(b.judged) > 0 {
		b.feed.note()
	}
}

// knows tells whether a Gateway has a status.
func (b *board) knows(gateway string) bool { return b.objects[ir.GatewayKey(gateway)] != nil }

// show makes an object's status anew from its parts.
func (b *board) show(key store.Key) {
	o := b.objects[key]
	if o == nil {
		return
	}
	fresh := copyStatus(o.update.Status)
	if gateway := o.update.Gateway; gateway != "" {
		b.verdicts[gateway].join(o.update, fresh)
	}
	stamp(fresh, o.shown, time.Now())
	o.shown = fresh
	b.feed.note(key)
}

// join replaces the conditions that only Envoy can decide.
func (v verdict) join(u status.Update, fresh any) {
	for listener, list := range conditionLists(fresh) {
		for i := range list {
			c := &list[i]
			if c.Type == string(gwv1.GatewayConditionProgrammed) && c.Status == metav1.ConditionUnknown &&
				c.Reason == string(gwv1.GatewayReasonPending) {
				now := v.of(u, listener)
				c.Status, c.Reason, c.Message = now.status, now.reason, now.message
			}
		}
	}
}

// stamp sets the transition times: that of before while the status is the same.
func stamp(fresh, before any, now time.Time) {
	old := conditionLists(before)
	for name, list := range conditionLists(fresh) {
		for i := range list {
			c := &list[i]
			c.LastTransitionTime = metav1.NewTime(now)
			at := slices.IndexFunc(old[name], func(o metav1.Condition) bool {
				return o.Type == c.Type && o.Status == c.Status
			})
			if at >= 0 {
				c.LastTransitionTime = old[name][at].LastTransitionTime
			}
		}
	}
}

// copyStatus copies a status deeply, so that its conditions may be changed.
func copyStatus(status any) any {
	switch s := status.(type) {
	case *gwv1.GatewayClassStatus:
		return s.DeepCopy()
	case *gwv1.GatewayStatus:
		return s.DeepCopy()
	case *gwv1.ListenerSetStatus:
		return s.DeepCopy()
	case *gwv1.RouteStatus:
		return s.DeepCopy()
	case *gwv1.PolicyStatus:
		return s.DeepCopy()
	case *api.GatewayExtensionStatus:
		return s.DeepCopy()
	}
	panic(fmt.Sprintf("status of an unknown type %T", status))
}

// conditionLists gives every list of conditions of a status, under a name that
// stays the same from one status to the next.
func conditionLists(status any) map[string][]metav1.Condition {
	lists := map[string][]metav1.Condition{}
	switch s := status.(type) {
	case *gwv1.GatewayClassStatus:
		lists[""] = s.Conditions
	case *gwv1.GatewayStatus:
		lists[""] = s.Conditions
		for _, l := range s.Listeners {
			lists[string(l.Name)] = l.Conditions
		}
	case *gwv1.ListenerSetStatus:
		lists[""] = s.Conditions
		for _, l := range s.Listeners {
			lists[string(l.Name)] = l.Conditions
		}
	case *gwv1.RouteStatus:
		for _, p := range s.Parents {
			lists[refName(p.ParentRef)] = p.Conditions
		}
	case *api.GatewayExtensionStatus:
		lists[""] = s.Conditions
	case *gwv1.PolicyStatus:
		for _, a := range s.Ancestors {
			lists[refName(a.AncestorRef)] = a.Conditions
		}
	}
	return lists
}

func refName(ref gwv1.ParentReference) string {
	name, err := json.Marshal(ref)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(name)
}

// gatewayOf gives "namespace/name" of a Gateway's key.
func gatewayOf(key store.Key) (string, bool) {
	return key.Namespace + "/" + key.Name, key.Group == gwv1.GroupName && key.Kind == "Gateway"
}

// state is what matters of a stream to Programmed.
type state struct {
	// idle tells that clusters and listeners were asked for and that nothing is
	// to be sent or answered.
	idle bool
	// settled tells that the Envoy asked for all tables of its scope, too: a new
	// listener asks for its own a moment after it was accepted.
	settled    bool
	rejections int
}

// settle finds the stream's state and judges its Gateways when it matters: that
// a stream has something to do never changes a verdict by itself.
func (s *Server) settle(st *stream) {
	was, now := st.state, st.current()
	st.setIdle(now.idle)
	st.state = now
	for _, l := range st.ledgers {
		l.shed(st.scope)
	}
	s.object(st)
	st.state.settled = now.idle && len(st.lacks) == 0
	if now.idle && !was.idle || now.rejections != was.rejections {
		s.touched[st.scope] = struct{}{}
	}
	s.judgeTouched()
}

// current looks at what is asked for, due and unanswered.
func (p *plan) current() state {
	now := state{idle: p.ledgers[resourcev3.ClusterType] != nil && p.ledgers[resourcev3.ListenerType] != nil}
	for _, l := range p.ledgers {
		now.idle = now.idle && l.idle()
		now.rejections += len(l.rejected)
	}
	now.rejections += p.refusedParts()
	return now
}

// audience gives the streams that serve a Gateway.
func (s *Server) audience(gateway string) []*stream {
	streams := slices.Collect(maps.Keys(s.union.streams))
	if c := s.scopes[gateway]; c != nil {
		streams = slices.AppendSeq(streams, maps.Keys(c.streams))
	}
	return streams
}

// verdict says how things stand with a Gateway. Its words are those of all of its Envoys.
func (s *Server) verdict(gateway string) verdict {
	c, streams := s.scopeOf(gateway), s.audience(gateway)
	now, before := s.standing(c), s.board.verdicts[gateway]
	v := verdict{status: now.status, reason: now.reason}
	if why := s.absent(gateway); why != "" || len(streams) == 0 {
		v.message = cmp.Or(why, "No Envoy is connected for this Gateway.")
		return v
	}
	waiting, refusals, unbound := 0, []string(nil), unbound{}
	for _, st := range streams {
		s.looks++
		if _, refuses := st.refuses[c]; refuses {
			refusals = append(refusals, st.refusals(gateway, unbound)...)
		}
		if !st.state.idle || st.lacks[c] > 0 {
			waiting++
		}
	}
	v.unbound = unbound.words(now.unbound, before.unbound)
	switch v.reason {
	case string(gwv1.GatewayReasonInvalid):
		// What Envoys said stands until they have answered to something newer.
		v.message = cmp.Or(sumUp(append(refusals, unbound.all()...)), before.message)
	case string(gwv1.GatewayReasonPending):
		v.message = fmt.Sprintf("%d of %d connected Envoys have not accepted the configuration yet.", waiting, len(streams))
	default:
		v.message = "Every connected Envoy accepted the configuration." + oldOnes(streams) + linearOnes(streams)
	}
	return v
}

// oldOnes tells of Envoys that are older than gatefold supports.
func oldOnes(streams []*stream) string {
	var old []string
	for _, st := range streams {
		if tooOld(st.version) {
			old = append(old, fmt.Sprintf("%q (%s)", cmp.Or(st.node, st.peer), st.version))
		}
	}
	if len(old) == 0 {
		return ""
	}
	slices.Sort(old)
	return fmt.Sprintf(" Older than Envoy %d.%d, which gatefold supports: %s.", oldestMajor, oldestMinor, strings.Join(slices.Compact(old), ", "))
}

// refusals says what of gateway this stream rejected; listeners that it could not bind
// go to unbound.
func (st *stream) refusals(gateway string, unbound unbound) []string {
	var said []string
	for typ, l := range st.ledgers {
		for name, r := range l.rejected {
			if !st.scope.owns(gateway, typ, name) {
				continue
			}
			words := fmt.Sprintf("Envoy %q rejected %s %q: %s", cmp.Or(st.node, st.peer), shortType(typ), name, r.words+bindHint(r.words))
			if bindFailed(r.words) {
				unbound[name] = append(unbound[name], words)
			} else {
				said = append(said, words)
			}
		}
	}
	return append(said, st.refusedRoutes(gateway)...)
}

// maxRefusals bounds how many rejections a condition tells; its message is
// limited to 32,768 bytes by the Kubernetes API.
const maxRefusals = 5

// sumUp joins rejections into one message, in an order that stays.
func sumUp(refusals []string) string {
	slices.Sort(refusals)
	more := len(refusals) - maxRefusals
	if more > 0 {
		refusals = append(refusals[:maxRefusals:maxRefusals], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(refusals, "; ")
}
