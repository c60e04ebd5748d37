package store

import (
	"time"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// saves tracks which served objects must be saved, and what was restored.
type saves struct {
	on       bool                      // Options.Save
	unsaved  map[manifest.Key]struct{} // changed since Unsaved told of it
	absent   map[manifest.Key]string   // Secrets that were restored without their content, by file
	restored bool                      // no Change has told of what Restore brought
}

// changed notes that the object of a key must be saved.
func (s *saves) changed(key manifest.Key) {
	if s.on {
		s.unsaved[key] = struct{}{}
	}
}

// history is the state that was served before the Changes since the last call of Applied.
type history struct {
	begun    bool // something was restored, or applied
	previous map[manifest.Key]served
	withheld map[manifest.Key]formerVersion // in the place of what is served here
}

// remember saves the object that was served under a key before a Change, the zero value for none.
func (s *history) remember(key manifest.Key, before served) {
	if _, known := s.previous[key]; !known && s.begun { // else nothing was served
		s.previous[key] = before
	}
}

// formerVersion is a Withheld with the text that is saved for it.
type formerVersion struct {
	Withheld
	text []byte
}

// Withheld is the version of an object that is served instead of the folder's version, which
// gatefold could not translate. It has the time since when.
type Withheld struct {
	Object *manifest.Object
	Since  time.Time
}

// kindSecret is the kind whose content is saved only where Options.SaveSecrets
// asks for it.
const kindSecret = "Secret"

// confidential reports whether the content of an object is saved only with Options.SaveSecrets.
// That is so for a Secret, and for a policy with users and password hashes.
func confidential(key manifest.Key, object *manifest.Object) bool {
	policy, _ := manifest.As[*api.TrafficPolicy](object)
	return key.Kind == kindSecret || policy != nil && policy.Spec.BasicAuth != nil && len(policy.Spec.BasicAuth.Users) > 0
}

// mayBeConfidential reports whether the objects of the key's kind can be confidential.
func mayBeConfidential(key manifest.Key) bool {
	return key.Kind == kindSecret || key.Kind == api.KindTrafficPolicy
}
