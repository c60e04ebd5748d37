package server

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// announcements logs events from the verdicts on Gateways (board.Verdict). It logs listeners when their address
// cannot be bound, and when they are bound again. It also logs at which addresses Envoy serves a Gateway. It
// remembers what it logged, so that each change is logged once. The server's lock (Server.lock) guards the maps.
type announcements struct {
	log    zerolog.Logger
	board  *board.Board
	folder admin.Folder // nil if no folder is configured

	infra   map[string]*ir.Infra           // where each Gateway listens, by Gateway
	serving map[string]string              // the addresses that were logged last (see the method listens), by Gateway
	unbound map[string]map[string]struct{} // the Envoy listeners that were logged as not bound, by Gateway
	queue   chan unboundListener           // read by tellBinds
}

// maxUnboundQueue is the capacity of announcements.queue, which has listeners whose address cannot be bound. If
// the queue is full, a listener is logged at once, without file and line.
const maxUnboundQueue = 256

// newAnnouncements returns announcements that have logged nothing yet. For a listener whose address cannot be bound,
// the log line names the YAML field that sets the listener's port. The parameter shown, a board, finds this field
// (Board.PortOf). The parameter folder finds the field's file and line. If folder is nil, log lines have no file and
// line.
func newAnnouncements(log zerolog.Logger, shown *board.Board, folder admin.Folder) *announcements {
	return &announcements{
		log: log, board: shown, folder: folder,
		infra: map[string]*ir.Infra{}, serving: map[string]string{}, unbound: map[string]map[string]struct{}{},
		queue: make(chan unboundListener, maxUnboundQueue),
	}
}

// unboundListener is an Envoy listener whose address cannot be bound. The field words is the text of the Envoys'
// errors (board.Verdict.Unbound).
type unboundListener struct {
	gateway, words string
	port           manifest.Field // the field with the listener's port (Board.PortOf); zero if it is not known
}

// setInfra stores where Gateways listen. If an update has no Infra, setInfra forgets the Gateway: where it listened,
// and what was logged for it.
func (a *announcements) setInfra(updates []ir.InfraUpdate) {
	for _, u := range updates {
		if a.infra[u.Gateway] = u.Infra; u.Infra == nil {
			delete(a.infra, u.Gateway)
			delete(a.serving, u.Gateway)
			delete(a.unbound, u.Gateway)
		}
	}
}

// announce logs what is new in v, the verdict on whether a Gateway is programmed:
//   - It queues each listener whose address newly cannot be bound, for tellBinds to log. It skips a listener for
//     which v has no text of the error.
//   - If the Gateway is programmed, announce logs each listener that is bound again, unless the user removed the
//     listener.
//   - If the Gateway is programmed and all listeners are bound, announce logs the Gateway's addresses, unless none
//     are known, or the same addresses were logged last.
func (a *announcements) announce(gateway string, v board.Verdict) {
	told := a.unbound[gateway]
	for _, listener := range slices.Sorted(maps.Keys(v.Unbound)) {
		if _, known := told[listener]; known || v.Unbound[listener] == "" {
			continue
		}
		if told == nil {
			told = map[string]struct{}{}
			a.unbound[gateway] = told
		}
		told[listener] = struct{}{}
		a.enqueue(unboundListener{gateway, v.Unbound[listener], a.board.PortOf(gateway, listener)})
	}
	if v.Status != metav1.ConditionTrue {
		return
	}
	for _, listener := range slices.Sorted(maps.Keys(told)) {
		if _, still := v.Unbound[listener]; !still {
			delete(told, listener)
			if !a.board.PortOf(gateway, listener).Object.IsZero() {
				a.log.Info().Str("gateway", gateway).Str("listener", listener).Msg("the listener is bound now, and serves")
			}
		}
	}
	where := a.listens(gateway)
	if where != "" && len(v.Unbound) == 0 && a.serving[gateway] != where {
		a.serving[gateway] = where
		a.log.Info().Str("gateway", gateway).Str("listens", where).Msg("Envoy serves the Gateway")
	}
}

// maxListens limits the addresses of a Gateway that one log line lists.
const maxListens = 8

// listens returns the addresses of a Gateway, joined by commas: "127.0.0.1:8080, 127.0.0.1:8443". After
// maxListens addresses it adds how many more there are. It returns "" if no address of the Gateway is known.
func (a *announcements) listens(gateway string) string {
	infra := a.infra[gateway]
	if infra == nil {
		return ""
	}
	var all []string
	for _, port := range infra.Ports {
		for _, address := range infra.Addresses {
			all = append(all, net.JoinHostPort(address, fmt.Sprint(port)))
		}
	}
	if more := len(all) - maxListens; more > 0 {
		all = append(all[:maxListens], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// enqueue queues a listener whose address cannot be bound (u), for tellBinds to log. If the queue is full,
// enqueue logs the listener at once, without file and line.
func (a *announcements) enqueue(u unboundListener) {
	select {
	case a.queue <- u:
	default:
		a.logUnbound(u, store.Place{})
	}
}

// tellBinds logs the listeners whose addresses cannot be bound. It takes these listeners from a.queue, and returns
// when ctx is done. A log line has the file, line and column of the listener's port, if these are known. tellBinds
// runs in its own goroutine, because finding a line can take as long as loading the folder.
func (a *announcements) tellBinds(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-a.queue:
			var place store.Place
			if a.folder != nil && !u.port.Object.IsZero() {
				place = a.folder.Places([]manifest.Field{u.port})[0]
			}
			a.logUnbound(u, place)
		}
	}
}

// logUnbound logs a listener whose address cannot be bound, with what to do. If the parameter place has no line,
// the log line has only the path of the field with the port.
func (a *announcements) logUnbound(u unboundListener, place store.Place) {
	field := strings.TrimPrefix(u.port.Path, "spec.")
	if place.Line > 0 {
		field += fmt.Sprintf(" (%s:%d:%d)", place.File, place.Line, place.Column)
	}
	a.log.Error().Str("gateway", u.gateway).Stringer("object", u.port.Object).Msg(u.words + "; " + board.BindRemedy(u.words, field))
}
