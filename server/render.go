package server

import (
	"encoding/json"

	"github.com/gatefold/gatefold/translate/xds"
)

// Types returns the type URLs that are served, in the order in which they are sent.
func Types() []string { return servedTypes() }

// ShownVersion returns a resource's version as the admin pages show it.
func ShownVersion(r *xds.Resource) string { return shownVersion(r) }

// ConfigJSON returns a resource as the admin pages show it: protobuf JSON, and of a secret only
// the public parts of its certificate.
func ConfigJSON(r *xds.Resource) json.RawMessage { return config(&entry{Resource: r}) }
