package store

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// declare updates the path policies, which say which files may define the objects of a namespace (see the package
// tenancy). They depend on the annotations of Namespaces. The parameter touched has the keys of the objects that
// may have changed; declare reads the Namespaces among them. The method settle has already decided which version of
// each Namespace is served. If the policy of a namespace changed, declare adds the objects in that namespace and
// all Gateways to touched, so that they are checked again.
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
	s.fresh.sure, s.fence.owners = false, s.fence.policy.Owners()
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

// grants returns what the annotations of a Namespace allow. There is one Grant for each definition of the Namespace.
// Definitions that the path policies reject (see the package tenancy) are left out. If no definition is left, the
// result is the Grant of the served Namespace (the parameter at).
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
