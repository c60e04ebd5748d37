package store

import (
	"encoding/json"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// saves records which served objects must be saved for a restart, and which objects Restore found without
// content.
type saves struct {
	on       bool                          // Options.Save
	secrets  bool                          // Options.SaveSecrets
	unsaved  map[manifest.Key]struct{}     // keys that changed since the last call of Unsaved
	absent   map[manifest.Key]absentObject // objects that were restored without content, such as Secrets
	restored bool                          // Restore was called, and the restored objects were not in any Change yet
}

// absentObject is an object that was restored without its content.
type absentObject struct {
	path string
	// policy is a TrafficPolicy without its users (withoutUsers), and text is what is saved of it. Both are nil for a Secret,
	// and for what an earlier gatefold saved.
	policy *manifest.Object
	text   []byte
}

// changed records that the object of a key must be saved. It does nothing without Options.Save.
func (s *saves) changed(key manifest.Key) {
	if s.on {
		s.unsaved[key] = struct{}{}
	}
}

// lost reports whether a restart would not know the served version of an object, because it is not saved.
func (s *saves) lost(key manifest.Key, object *manifest.Object) bool {
	return !s.on || !s.secrets && confidential(key, object)
}

// history has, for each key that changed since Applied was last called, the object that was served at that
// call.
type history struct {
	begun    bool // Restore or Applied was called
	previous map[manifest.Key]served
	invalid  map[manifest.Key]*Invalid // likewise, the Invalid of each key that got another one
	absent   map[manifest.Key]struct{} // objects that Restore found without content, until Applied is called
	texts    map[textHash]struct{}     // documents that cannot be parsed, and were there before (Store.TextsStand)
	// textsChanged is true if texts changed since the last call of StoodTextsChanged.
	textsChanged bool
	withheld     map[manifest.Key]struct{} // objects of which no version is served (Store.Applied)
}

func newHistory() *history {
	return &history{
		previous: map[manifest.Key]served{}, invalid: map[manifest.Key]*Invalid{}, absent: map[manifest.Key]struct{}{},
	}
}

// rememberInvalid records the Invalid that a key had until now, or nil. For each key, only the first call after a call
// of Applied has an effect.
func (s *history) rememberInvalid(key manifest.Key, before *Invalid) {
	if _, known := s.invalid[key]; !known {
		s.invalid[key] = before
	}
}

// remember records the object that was served under a key until now: the parameter before, which is zero if no
// object was served. For each key, only the first call after a call of Applied has an effect. Before the first
// call of Restore or Applied, remember does nothing.
func (s *history) remember(key manifest.Key, before served) {
	if _, known := s.previous[key]; !known && s.begun { // otherwise nothing was served
		s.previous[key] = before
	}
}

// kindSecret is the kind of a Secret. The content of a Secret is saved only with Options.SaveSecrets.
const kindSecret = "Secret"

// confidential reports whether the content of an object is saved only with Options.SaveSecrets. It returns true
// for a Secret, and for a TrafficPolicy with users and password hashes.
func confidential(key manifest.Key, object *manifest.Object) bool {
	policy, _ := manifest.As[*api.TrafficPolicy](object)
	return key.Kind == kindSecret || policy != nil && policy.Spec.BasicAuth != nil && len(policy.Spec.BasicAuth.Users) > 0
}

// withoutUsers returns a document with a TrafficPolicy that has the same targets, and api.UsersNotSaved in place of its
// users. It returns nil for a Secret.
func withoutUsers(object *manifest.Object) []byte {
	policy, ok := manifest.As[*api.TrafficPolicy](object)
	if !ok {
		return nil
	}
	spec := map[string]any{"basicAuth": map[string]any{"users": []string{api.UsersNotSaved}}}
	if len(policy.Spec.TargetRefs) > 0 {
		spec["targetRefs"] = policy.Spec.TargetRefs
	}
	if len(policy.Spec.TargetSelectors) > 0 {
		spec["targetSelectors"] = policy.Spec.TargetSelectors
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": api.Group + "/v1alpha1", "kind": api.KindTrafficPolicy,
		"metadata": map[string]any{"name": object.Key.Name, "namespace": object.Key.Namespace}, "spec": spec,
	})
	if err != nil { // these types have no value that JSON lacks
		panic(err)
	}
	return text
}

// LacksUsers reports whether an object is a TrafficPolicy without its users (withoutUsers).
func LacksUsers(object *manifest.Object) bool {
	policy, _ := manifest.As[*api.TrafficPolicy](object)
	return policy != nil && policy.Spec.BasicAuth.LacksUsers()
}

// mayBeConfidential reports whether confidential can return true for objects of the key's kind.
func mayBeConfidential(key manifest.Key) bool {
	return key.Kind == kindSecret || key.Kind == api.KindTrafficPolicy
}
