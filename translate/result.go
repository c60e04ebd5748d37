package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Result is what one Change made of the configuration. It is never changed
// after it was handed out.
type Result struct {
	// Delta holds the resources that changed, and no others, sorted by Gateway,
	// type and name.
	Delta []xds.Update
	// Infra holds what changed of what Gateways need of their machine, sorted by
	// Gateway.
	Infra []ir.InfraUpdate
	// Status holds the changed statuses, sorted by key.
	Status []status.Update
	// Problems holds every problem that stands now, sorted. They name object
	// and field; store.Locate adds file and line. It is the list of the Result before
	// (store.SameProblems) where none changed.
	Problems []manifest.Problem
	// Stale holds every object whose last valid version is served (store.Change.Stale). A
	// Translator leaves it empty: whoever joins the steps hands the store's list on.
	Stale []store.Stale
	// View gives the routes as they are tried, for explain. It is built when
	// asked for the first time, may be called from any goroutine, and always
	// shows the state after this Result.
	View func() *ir.View
	// Certificates are those that Envoys are given, sorted by Secret. They and Authorities
	// are the lists of the Result before where none changed.
	Certificates []ir.Certificate
	// Authorities are the objects by whose certificates Envoys know backends and
	// clients, sorted.
	Authorities []ir.Authorities
}
