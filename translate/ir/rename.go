package ir

import "slices"

// Renamed returns a copy of the rule with other cluster names. The parameter name is a function that returns the new
// name of a cluster. Renamed calls it for each cluster to which the rule sends requests, or which Envoy calls for the
// rule. The cluster name "" stays.
func (r *Rule) Renamed(name func(string) string) *Rule {
	out := *r
	out.Action = r.Action.renamed(name)
	return &out
}

// Renamed returns a copy of the extras with new cluster names, as Rule.Renamed does for a rule. It returns e itself
// if e is nil or uses no GatewayExtension.
func (e *Extras) Renamed(name func(string) string) *Extras {
	if len(e.Extensions()) == 0 {
		return e
	}
	out := *e
	out.ExtAuth, out.GlobalLimit, out.ExtProc = copied(e.ExtAuth), copied(e.GlobalLimit), copied(e.ExtProc)
	out.OAuth2 = copied(e.OAuth2)
	out.JWTAuth = copied(e.JWTAuth)
	for _, use := range out.Extensions() {
		use.rename(name)
	}
	return &out
}

// rename replaces u.Extension by a copy with new cluster names. The parameter name is a function that returns the new
// name of a cluster.
func (u *ExtensionUse) rename(name func(string) string) {
	extension := *u.Extension
	extension.JWT = extension.JWT.Renamed(name)
	if cluster := &extension.Service.Cluster; *cluster != "" {
		*cluster = name(*cluster)
	}
	u.Extension = &extension
}

// Renamed returns a copy of the route in which the clusters of Backends have new names. The parameter name is a
// function that returns the new name of a cluster. The cluster name "", and the field Cluster of the route, stay.
func (r *StreamRoute) Renamed(name func(string) string) *StreamRoute {
	out := *r
	out.Backends = slices.Clone(r.Backends)
	for i := range out.Backends {
		if cluster := &out.Backends[i].Cluster; *cluster != "" {
			*cluster = name(*cluster)
		}
	}
	return &out
}

// copied returns a pointer to a copy of *p, or nil if p is nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}
