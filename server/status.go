package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/translate/xds"
)

// state is what matters of a stream to Programmed.
type state struct {
	// idle is true if clusters and listeners were asked for and that nothing is
	// to be sent or answered.
	idle       bool
	rejections int
}

// settle finds the stream's state and judges its Gateways when it matters: that
// a stream has something to do never changes a verdict by itself.
func (s *Server) settle(st *stream) {
	was, now := st.state, st.current()
	st.setIdle(now.idle)
	st.state = now
	s.object(st)
	if now.idle && !was.idle || now.rejections != was.rejections {
		s.touched[st.scope] = struct{}{}
	}
	s.judgeTouched()
}

// current looks at what is asked for, due and unanswered.
func (p *plan) current() state {
	now := state{idle: p.ledgers[xds.ClusterType] != nil && p.ledgers[xds.ListenerType] != nil}
	for _, l := range p.ledgers {
		now.idle = now.idle && l.idle()
		now.rejections += len(l.rejected.of)
	}
	now.rejections += p.refusedParts()
	return now
}

// audience returns the streams that serve a Gateway.
func (s *Server) audience(gateway string) []*stream {
	streams := slices.Collect(maps.Keys(s.union.streams))
	if c := s.scopes[gateway]; c != nil {
		streams = slices.AppendSeq(streams, maps.Keys(c.streams))
	}
	return streams
}

// verdict says how things stand with a Gateway. Its words are those of all of its Envoys.
func (s *Server) verdict(gateway string) board.Verdict {
	c, streams := s.scopeOf(gateway), s.audience(gateway)
	now, before := s.standing(c), s.verdicts.given[gateway]
	v := board.Verdict{Status: now.status, Reason: now.reason}
	if why := s.absent(gateway); why != "" || len(streams) == 0 {
		v.Message = cmp.Or(why, "No Envoy is connected for this Gateway.")
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
	v.Unbound = unbound.words(now.unbound, before.Unbound)
	switch v.Reason {
	case string(gwv1.GatewayReasonInvalid):
		// What Envoys said stands until they have answered to something newer.
		v.Message = cmp.Or(sumUp(append(refusals, unbound.all()...)), before.Message)
	case string(gwv1.GatewayReasonPending):
		v.Message = fmt.Sprintf("%d of %d connected Envoys have not accepted the configuration yet.", waiting, len(streams))
	default:
		v.Message = "Every connected Envoy accepted the configuration." + oldOnes(streams)
	}
	return v
}

// oldOnes names the Envoys that are older than those that gatefold is tested with.
func oldOnes(streams []*stream) string {
	var old []string
	for _, st := range streams {
		if testedEnvoy().after(st.version) {
			old = append(old, fmt.Sprintf("%q (%s)", cmp.Or(st.node, st.peer), st.version))
		}
	}
	if len(old) == 0 {
		return ""
	}
	slices.Sort(old)
	return fmt.Sprintf(" Older than Envoy %s, which gatefold is tested with: %s.", testedEnvoy(), strings.Join(slices.Compact(old), ", "))
}

// refusals says what of gateway this stream rejected; listeners that it could not bind
// go to unbound.
func (st *stream) refusals(gateway string, unbound unbound) []string {
	var said []string
	for typ, l := range st.ledgers {
		for name, r := range l.rejected.of {
			if !st.scope.owns(gateway, typ, name) {
				continue
			}
			node := cmp.Or(st.node, st.peer)
			if bindFailed(r.words) {
				unbound[name] = append(unbound[name], board.BindWords(node, r.words))
			} else {
				said = append(said, fmt.Sprintf("Envoy %q rejected %s %q: %s", node, xds.ShortType(typ), name, r.words))
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
