package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/translate/ir"
)

// The bounds of one page: how many Envoys are asked at once, and how long all of it
// takes at most.
const (
	askedAtOnce = 8
	askedFor    = 4 * time.Second
)

// EnvoyList is the page /api/v1/envoys.
type EnvoyList struct {
	// Envoys are the connected ones, sorted by node.
	Envoys []health.Envoy `json:"envoys"`
	// Supervised are the Envoys that this machine runs, or should run, sorted by Gateway.
	Supervised []envoyhost.State `json:"supervised,omitempty"`
}

// question is a connected Envoy, and where to ask it.
type question struct {
	envoy health.Envoy
	at    health.Address
}

// envoysPage asks every connected Envoy which endpoints it does not use. It alone does:
// what nobody asks for costs no Envoy anything.
func (s *Server) envoysPage(w http.ResponseWriter, r *http.Request) {
	questions, view := s.questions()
	ctx, cancel := context.WithTimeout(r.Context(), askedFor)
	defer cancel()
	var known map[string]*ir.Cluster
	if view != nil {
		known = view().Clusters
	}
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i := range questions {
		if q := &questions[i]; q.envoy.Unknown == nil {
			group.Go(func() error {
				if !s.survives("envoys", func() { q.envoy.Ask(ctx, q.at, known) }) { // what it answers is of a client's making
					q.envoy.Unknown = &health.Unknown{Message: "internal error; the log of gatefold has the details"}
				}
				return nil
			})
		}
	}
	_ = group.Wait() // there are no errors
	list := EnvoyList{Envoys: []health.Envoy{}}
	s.locked(func() { list.Supervised = s.supervisedList })
	for _, q := range questions {
		list.Envoys = append(list.Envoys, q.envoy)
	}
	answer(w, http.StatusOK, list)
}

// questions returns the connected Envoys, and the newest view. Envoys whose admin address
// is not to be asked have their answer already.
func (s *Server) questions() ([]question, func() *ir.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []question
	add := func(c *scope) {
		for st := range c.streams {
			q := question{envoy: health.Envoy{Node: st.node, NodeCluster: st.cluster, Version: st.version, Peer: st.peer}}
			q.at, q.envoy.Unknown = health.Admit(st.claim, st.address, s.socket())
			all = append(all, q)
		}
	}
	add(s.union)
	for _, c := range s.scopes {
		add(c)
	}
	slices.SortFunc(all, func(a, b question) int {
		return cmp.Or(strings.Compare(a.envoy.Node, b.envoy.Node), strings.Compare(a.envoy.Peer, b.envoy.Peer))
	})
	return all, s.view
}

// socket is the path of the xDS socket, "" where xDS is served on TCP.
func (s *Server) socket() string {
	path, _ := strings.CutPrefix(s.options.XDSAddress, "unix:")
	if path == s.options.XDSAddress {
		return ""
	}
	return path
}
