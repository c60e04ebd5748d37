package server

import (
	"encoding/json"

	"github.com/gatefold/gatefold/translate/xds"
)

// Types gives the type URLs that are served, in the order in which an Envoy is
// sent them.
func Types() []string { return servedTypes() }

// ConfigJSON renders a resource as the admin pages do: protobuf JSON, and of a
// secret only the beginning of its sum.
func ConfigJSON(r *xds.Resource) json.RawMessage { return config(&entry{Resource: r}) }
