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

// announcements are what the log was told of verdicts, so that each turn is one line. It is
// guarded by lock but for the queue.
type announcements struct {
	log    zerolog.Logger
	board  *board.Board
	folder admin.Folder // nil where there is none

	infra   map[string]*ir.Infra           // by Gateway
	serving map[string]string              // the addresses that were told, by Gateway
	unbound map[string]map[string]struct{} // the Envoy listeners that were told, by Gateway
	queue   chan unboundListener           // to tellBinds
}

// maxUnboundQueue bounds the queue. What does not fit is told without its place.
const maxUnboundQueue = 256

func newAnnouncements(log zerolog.Logger, shown *board.Board, folder admin.Folder) *announcements {
	return &announcements{
		log: log, board: shown, folder: folder,
		infra: map[string]*ir.Infra{}, serving: map[string]string{}, unbound: map[string]map[string]struct{}{},
		queue: make(chan unboundListener, maxUnboundQueue),
	}
}

// unboundListener is an Envoy listener whose address cannot be bound.
type unboundListener struct {
	gateway, words string
	port           manifest.Field // of the first listener there; zero where none is known
}

// setInfra takes over where Gateways listen.
func (a *announcements) setInfra(updates []ir.InfraUpdate) {
	for _, u := range updates {
		if a.infra[u.Gateway] = u.Infra; u.Infra == nil {
			delete(a.infra, u.Gateway)
			delete(a.serving, u.Gateway)
			delete(a.unbound, u.Gateway)
		}
	}
}

// announce logs what is new of a verdict: that requests are answered, and where; and each
// listener that cannot be bound, or can again.
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
			a.log.Info().Str("gateway", gateway).Str("listener", listener).Msg("the listener is bound now, and serves")
		}
	}
	where := a.listens(gateway)
	if where != "" && len(v.Unbound) == 0 && a.serving[gateway] != where {
		a.serving[gateway] = where
		a.log.Info().Str("gateway", gateway).Str("listens", where).Msg("Envoy serves the Gateway")
	}
}

// maxListens is how many addresses of a Gateway the log names.
const maxListens = 8

// listens names where a Gateway listens: "127.0.0.1:8080, 127.0.0.1:8443".
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

func (a *announcements) enqueue(u unboundListener) {
	select {
	case a.queue <- u:
	default:
		a.logUnbound(u, store.Place{})
	}
}

// tellBinds logs listeners that cannot be bound, with the place of their ports, until ctx
// ends. To find places may take as long as a load, which no stream waits for.
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

func (a *announcements) logUnbound(u unboundListener, place store.Place) {
	field := strings.TrimPrefix(u.port.Path, "spec.")
	if place.Line > 0 {
		field += fmt.Sprintf(" (%s:%d:%d)", place.File, place.Line, place.Column)
	}
	a.log.Error().Str("gateway", u.gateway).Stringer("object", u.port.Object).Msg(u.words + "; " + board.BindRemedy(u.words, field))
}
