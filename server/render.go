package server

import (
	"encoding/json"

	"github.com/gatefold/gatefold/translate/xds"
)

// Types returns the type URLs that are served, in the order in which an Envoy is
// sent them.
func Types() []string { return servedTypes() }

// ShownVersion is a resource's version as the admin pages show it.
func ShownVersion(r *xds.Resource) string { return shownVersion(r) }

// ConfigJSON renders a resource as the admin pages do: protobuf JSON, and of a
// secret only what everybody may know of its certificate.
func ConfigJSON(r *xds.Resource) json.RawMessage { return config(&entry{Resource: r}) }
