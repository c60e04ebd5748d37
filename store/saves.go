package store

import (
	"time"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// saves is what is to be saved of what is served, and what was restored.
type saves struct {
	on       bool                      // Options.Save
	unsaved  map[manifest.Key]struct{} // changed since Unsaved told of it
	absent   map[manifest.Key]string   // Secrets that were restored without their content, by file
	restored bool                      // no Change has told of what Restore brought
}

// changed notes that a key has to be saved.
func (s *saves) changed(key manifest.Key) {
	if s.on {
		s.unsaved[key] = struct{}{}
	}
}

// history is what was served before the Changes that Applied does not know of.
type history struct {
	begun    bool // something was restored, or applied
	previous map[manifest.Key]served
	withheld map[manifest.Key]formerVersion // in the place of what is served here
}

// remember notes what was served under a key before a Change, the zero value for nothing.
func (s *history) remember(key manifest.Key, before served) {
	if _, known := s.previous[key]; !known && s.begun { // else nothing was served
		s.previous[key] = before
	}
}

// formerVersion is what a Withheld needs beside, to be saved.
type formerVersion struct {
	Withheld
	text []byte
}

// Withheld is the version of an object that is served in the place of the folder's, which
// gatefold could not translate, and since when.
type Withheld struct {
	Object *manifest.Object
	Since  time.Time
}

// kindSecret is the kind whose content is saved only where Options.SaveSecrets
// asks for it.
const kindSecret = "Secret"

// confidential reports whether the content of an object is saved only where
// Options.SaveSecrets asks for it: a Secret, or a policy with users and the hashes of their
// passwords.
func confidential(key manifest.Key, object *manifest.Object) bool {
	policy, _ := manifest.As[*api.TrafficPolicy](object)
	return key.Kind == kindSecret || policy != nil && policy.Spec.BasicAuth != nil && len(policy.Spec.BasicAuth.Users) > 0
}

// mayBeConfidential reports whether the objects of the key's kind can be confidential.
func mayBeConfidential(key manifest.Key) bool {
	return key.Kind == kindSecret || key.Kind == api.KindTrafficPolicy
}
