package translate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
)

// These types are keys of rules and folds, which compute the values of the incremental translation (package memo).
// The file nodekeys.go has the keys of the nodes of delegation trees.
type (
	// portKey is a port of a Gateway.
	portKey struct {
		Gateway string // "namespace/name"
		Port    int32
		UDP     bool
	}
	// chainKey is a filter chain of a port, which has its own RouteConfiguration. Chain is ir.Chain.Name.
	chainKey struct {
		portKey
		Chain string
	}
	// tableKey is a virtual host: a domain in a filter chain.
	tableKey struct {
		chainKey
		Domain string
	}
	// hostKey is a domain on a port. Unlike a tableKey, it does not depend on the filter chain that serves the
	// domain.
	hostKey struct {
		portKey
		Domain string
	}
	// partKey is a Gateway and an object that defines listeners for it: the Gateway itself or a ListenerSet.
	partKey struct {
		Gateway string
		Object  manifest.Key
	}
	// useKey is a Gateway and a backend that the Gateway needs.
	useKey struct {
		Gateway string
		Backend backend.Key
	}
	// listenerKey is a Gateway and the ID of one of its listeners.
	listenerKey struct {
		Gateway, Listener string
	}
)

func (k portKey) String() string {
	return fmt.Sprintf("%s:%s", k.Gateway, listen.Socket{Port: k.Port, UDP: k.UDP})
}

func (k chainKey) String() string {
	if k.Chain == "" {
		return k.portKey.String()
	}
	return k.portKey.String() + "/" + k.Chain
}

func (k hostKey) String() string { return k.portKey.String() + " " + k.Domain }

func (k partKey) String() string { return fmt.Sprintf("%s of %s", k.Object, k.Gateway) }

func (k tableKey) String() string { return k.chainKey.String() + " " + k.Domain }

func (k useKey) String() string { return k.Gateway + " " + k.Backend.Cluster() }

func comparePortKeys(a, b portKey) int {
	return cmp.Or(strings.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Port, b.Port), ir.TrueFirst(!a.UDP, !b.UDP))
}

// tableOf returns the key of the virtual host of a listen.Place (at). The parameter gateway is "namespace/name"
// of the Gateway.
func tableOf(gateway string, at listen.Place) tableKey {
	return tableKey{chainKey{portKey{gateway, at.Port, at.UDP}, at.Chain}, at.Domain}
}
