package store

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// declare updates the path policies to the Namespaces that are served now. It adds the keys that
// these policies judge differently to touched. Namespaces in touched are already decided.
func (s *serving) declare(touched map[manifest.Key]struct{}) {
	clear(s.fence.foundOutside)
	changed := map[string]bool{}
	for key := range touched {
		if !isNamespace(key) {
			continue
		}
		at, serves := s.served[key]
		if serves && s.fence.policy.Declare(key.Name, s.grants(key, at)) || !serves && s.fence.policy.Forget(key.Name) {
			changed[key.Name] = true
		}
	}
	if len(changed) == 0 {
		return
	}
	s.fresh.sure = false
	judge := func(key manifest.Key) {
		if key.Namespace != "" && (changed[key.Namespace] || key.Kind == kindGateway) {
			touched[key] = struct{}{}
		}
	}
	for key := range s.found {
		judge(key)
	}
	for key := range s.rejected {
		judge(key)
	}
	for _, keys := range s.kept {
		for key := range keys {
			judge(key)
		}
	}
}

// grants returns what the definitions of a Namespace allow that may serve. If there are none, it
// returns what the kept version allows.
func (s *serving) grants(key manifest.Key, at served) (all []tenancy.Grant) {
	for _, d := range s.found[key] {
		if !s.fence.rejects(d) {
			all = append(all, grantOf(d.object))
		}
	}
	if len(all) == 0 {
		all = append(all, grantOf(at.object))
	}
	return all
}
