package store

import (
	"cmp"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// portless returns the Backends that may be meant by references of an invalid object without a port, by the field of the
// reference. A reference without group and kind is to a Service, which needs a port, and people forget group and kind.
func portless(object map[string]any, findings []schema.Finding) (meant map[string]manifest.Key) {
	namespace := keyOf(object).Namespace
	for _, f := range findings {
		if !f.NeedsPort() {
			continue
		}
		var value any = object
		for _, s := range parsePath(f.Field) {
			switch v := value.(type) {
			case map[string]any:
				value = v[s.key]
			case []any:
				value = v[s.index]
			}
		}
		ref, _ := value.(map[string]any)
		if name := textOf(ref["name"]); name != "" {
			if meant == nil {
				meant = map[string]manifest.Key{}
			}
			meant[f.Field] = manifest.Key{Group: api.Group, Kind: api.KindBackend, Namespace: cmp.Or(textOf(ref["namespace"]), namespace), Name: name}
		}
	}
	return meant
}

// nameBackends says, in problems of references without a port, that there is a Backend of the name. The parameter all has
// the problems, and is changed in place. The Backends are recorded in s.fresh.targets, because the hints change when one
// appears or disappears.
func (s *problemLists) nameBackends(all []manifest.Problem) {
	type spot struct {
		file, field string
		object      manifest.Key
	}
	exist := map[spot]bool{}
	for key, refusals := range s.serving.rejected {
		for _, r := range refusals {
			for field, backend := range r.portless {
				s.fresh.targets[backend] = struct{}{}
				if _, served := s.serving.served[backend]; served {
					exist[spot{r.file.path, field, key}] = true
				}
			}
		}
	}
	for i := range all {
		if p := &all[i]; p.Code == schema.RuleViolated && exist[spot{p.File, p.Field, p.Object}] {
			p.Hint = "there is a Backend of that name: add group: " + api.Group + ", kind: " + api.KindBackend
		}
	}
}
