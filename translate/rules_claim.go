package translate

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// claim is what is known about a virtual host before its rules are built: how many listeners and routes have
// its domain.
type claim struct {
	Count    int    // number of listeners and routes
	Listener string // the ID of the listener that serves the host
}

type claimIn struct {
	admitted *memo.Rule[manifest.Key, *attachOut]
	gateway  *memo.Rule[manifest.Key, *listen.Gateway]
}

// claimRules find out which virtual hosts exist, before their rules are built. The fold claimed counts the
// listeners and routes of each virtual host. The fold breadth counts the virtual hosts of each listener.
type claimRules struct {
	claimed *memo.Fold[tableKey, string, string, claim]
	breadth *memo.Fold[listenerKey, tableKey, struct{}, int]
	// streams has for each listener the number of pairs of a hostname and a TCPRoute, TLSRoute or UDPRoute that
	// requests the hostname.
	streams *memo.Fold[listenerKey, streamAt, struct{}, int]
}

// streamAt is a pair: a TCPRoute, TLSRoute or UDPRoute, and the key of the virtual host (tableKey) for one of the
// hostnames that this route requests.
type streamAt struct {
	tableKey
	Route manifest.Key
}

func newClaimRules(e *memo.Engine, in claimIn) *claimRules {
	r := &claimRules{claimed: memo.NewFold[tableKey, string](e, "claimed", addClaims, identical[claim])}
	memo.From(r.claimed, in.admitted, func(key manifest.Key, a *attachOut, yield func(memo.Place[tableKey, string], string)) {
		if kind, _ := route.KindOf(key); !kind.Tables {
			return
		}
		for table, place := range a.places() {
			yield(memo.Place[tableKey, string]{Key: table, ID: key.String()}, place.Listener)
		}
	}, identical)
	memo.From(r.claimed, in.gateway, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[tableKey, string], string)) {
		if g == nil {
			return
		}
		for _, place := range g.Places() {
			yield(memo.Place[tableKey, string]{Key: tableOf(g.Name, place), ID: mark}, place.Listener)
		}
	}, identical)
	r.breadth = memo.NewFold[listenerKey, tableKey](e, "breadth", count[tableKey], identical[int])
	memo.From(r.breadth, r.claimed, func(key tableKey, of claim, yield func(memo.Place[listenerKey, tableKey], struct{})) {
		if of.Count > 0 {
			yield(memo.Place[listenerKey, tableKey]{Key: listenerKey{key.Gateway, of.Listener}, ID: key}, struct{}{})
		}
	}, identical)
	r.streams = memo.NewFold[listenerKey, streamAt](e, "streambreadth", count[streamAt], identical[int])
	memo.From(r.streams, in.admitted, func(key manifest.Key, a *attachOut, yield func(memo.Place[listenerKey, streamAt], struct{})) {
		if !route.IsStream(key) {
			return
		}
		for table, place := range a.places() {
			yield(memo.Place[listenerKey, streamAt]{Key: listenerKey{table.Gateway, place.Listener}, ID: streamAt{table, key}}, struct{}{})
		}
	}, identical)
	return r
}

// addClaims is the function step of the fold claimRules.claimed. The members of a virtual host are the listeners and
// routes that have its domain. Each new member adds 1 to Count, and each removed member subtracts 1. Listener is
// taken from any member, because all members of a virtual host have the same listener.
func addClaims(of claim, members []memo.Member[string, string]) claim {
	for _, m := range members {
		switch {
		case !m.Had:
			of.Count++
		case !m.Has:
			of.Count--
		}
		if m.Has {
			of.Listener = m.New
		}
	}
	return of
}
