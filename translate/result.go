package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Result is the output for one Change. It is immutable.
type Result struct {
	// Delta holds the resources that changed, and no others, sorted by Gateway,
	// type and name.
	Delta []xds.Update
	// Infra holds the changed Infra of Gateways, sorted by Gateway.
	Infra []ir.InfraUpdate
	// Status holds the changed statuses, sorted by key.
	Status []status.Update
	// Problems holds every current problem, sorted. They name object and field; store.Locate
	// adds file and line. If none changed, it is the same list as in the previous Result
	// (store.SameProblems).
	Problems []manifest.Problem
	// Stale holds every object whose last valid version is served (store.Change.Stale). A
	// Translator leaves it empty; the caller copies the store's list.
	Stale []store.Stale
	// View returns the routes in the order in which Envoy tries them, for explain. It is built
	// when it is first called, may be called from any goroutine, and always shows the state
	// after this Result.
	View func() *ir.View
	// Certificates are the certificates that Envoys get, sorted by Secret. If none changed, it
	// and Authorities are the same lists as in the previous Result.
	Certificates []ir.Certificate
	// Authorities are the objects with the CA certificates by which Envoys verify backends and
	// clients, sorted.
	Authorities []ir.Authorities
	// Issuers are the issuers of OpenID providers whose discovery documents are needed, sorted;
	// Discover sets what they answer.
	Issuers []string
}
