package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Result is what Translator.Apply returns for one Change. Nothing that a Result refers to is changed later. The
// caller of Apply sets the field Stale.
type Result struct {
	// Delta has only the resources that changed, sorted by Gateway, type and name.
	Delta []xds.Update
	// Infra has the changed Infra of Gateways, sorted by Gateway.
	Infra []ir.InfraUpdate
	// Status has the changed statuses, sorted by key.
	Status []status.Update
	// Problems has all current problems, sorted. Each problem names object and field; store.Locate adds file and
	// line. If no problem changed, Problems is the same slice as in the previous Result (store.SameProblems).
	Problems []manifest.Problem
	// Stale has each object whose last valid version is served (store.Change.Stale). A Translator leaves it
	// empty; the caller copies the list of the store.
	Stale []store.Stale
	// View returns the routes in the order in which Envoy tries them, for explain. The View is built in the
	// first call and always shows the state after this Result. Any goroutine may call View.
	View func() *ir.View
	// Certificates are the certificates that Envoys get, sorted by Secret. If no certificate changed, was added or was
	// removed, Certificates is the same slice as in the previous Result.
	Certificates []ir.Certificate
	// Authorities are the objects with the CA certificates that Envoys verify backends and clients with, sorted
	// by object. If no bundle of CA certificates changed, was added or was removed, Authorities is the same slice as
	// in the previous Result.
	Authorities []ir.Authorities
	// Issuers are the issuers of OpenID providers whose discovery documents are needed, sorted.
	// Translator.Discover sets their answers.
	Issuers []string
	// Holders has who has each Thing that several objects want. If nothing of it changed, Holders is the same map as in
	// the previous Result. Translator.Hold gives it to a new Translator.
	Holders Holders
}
