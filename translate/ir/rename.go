package ir

import "slices"

// Renamed returns the rule with new names for the clusters that it sends to and calls. It calls
// name for each name that is not "".
func (r *Rule) Renamed(name func(string) string) *Rule {
	out := *r
	out.Action = r.Action.renamed(name)
	return &out
}

// Renamed is Rule.Renamed for extras. nil stays nil.
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

// rename replaces the Extension of the use by one with a renamed service.
func (u *ExtensionUse) rename(name func(string) string) {
	extension := *u.Extension
	extension.JWT = extension.JWT.Renamed(name)
	if cluster := &extension.Service.Cluster; *cluster != "" {
		*cluster = name(*cluster)
	}
	u.Extension = &extension
}

// Renamed is Rule.Renamed for a route of streams.
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

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}
