package server

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// announcements are what the log was told of verdicts, so that each turn is one line. It is
// guarded by Server.mu but for the queue.
type announcements struct {
	infra   map[string]*ir.Infra           // by Gateway
	serving map[string]string              // the addresses that were told, by Gateway
	unbound map[string]map[string]struct{} // the Envoy listeners that were told, by Gateway
	queue   chan unboundListener           // to tellBinds
}

// maxUnboundQueue bounds the queue. What does not fit is told without its place.
const maxUnboundQueue = 256

func newAnnouncements() announcements {
	return announcements{
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
func (s *Server) announce(gateway string, v board.Verdict) {
	told := s.announced.unbound[gateway]
	for _, listener := range slices.Sorted(maps.Keys(v.Unbound)) {
		if _, known := told[listener]; known || v.Unbound[listener] == "" {
			continue
		}
		if told == nil {
			told = map[string]struct{}{}
			s.announced.unbound[gateway] = told
		}
		told[listener] = struct{}{}
		s.enqueue(unboundListener{gateway, v.Unbound[listener], s.board.PortOf(gateway, listener)})
	}
	if v.Status != metav1.ConditionTrue {
		return
	}
	for _, listener := range slices.Sorted(maps.Keys(told)) {
		if _, still := v.Unbound[listener]; !still {
			delete(told, listener)
			s.log.Info().Str("gateway", gateway).Str("listener", listener).Msg("the listener is bound now, and serves")
		}
	}
	where := s.announced.listens(gateway)
	if where != "" && len(v.Unbound) == 0 && s.announced.serving[gateway] != where {
		s.announced.serving[gateway] = where
		s.log.Info().Str("gateway", gateway).Str("listens", where).Msg("Envoy serves the Gateway")
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

func (s *Server) enqueue(u unboundListener) {
	select {
	case s.announced.queue <- u:
	default:
		s.logUnbound(u, store.Place{})
	}
}

// tellBinds logs listeners that cannot be bound, with the place of their ports, until ctx
// ends. To find places may take as long as a load, which no stream waits for.
func (s *Server) tellBinds(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-s.announced.queue:
			var place store.Place
			if s.options.Folder != nil && !u.port.Object.IsZero() {
				place = s.options.Folder.Places([]manifest.Field{u.port})[0]
			}
			s.logUnbound(u, place)
		}
	}
}

func (s *Server) logUnbound(u unboundListener, place store.Place) {
	field := strings.TrimPrefix(u.port.Path, "spec.")
	if place.Line > 0 {
		field += fmt.Sprintf(" (%s:%d:%d)", place.File, place.Line, place.Column)
	}
	s.log.Error().Str("gateway", u.gateway).Stringer("object", u.port.Object).Msg(u.words + "; " + board.BindRemedy(u.words, field))
}
