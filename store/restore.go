package store

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Saved is one served object in a form that can be saved on disk. A Store that restores all Saved of another Store
// continues the work of that Store:
//   - Stale objects stay stale.
//   - If the folder is now empty, it is frozen: the restored objects stay served.
//   - If an object has two definitions, the one that was served stays served.
//
// Several goroutines may read a Saved.
type Saved struct {
	Key manifest.Key
	// Path is the file of the object. It is "" if the object is no longer served.
	Path string
	// Line is the line of the file at which Text begins. If Text is not the whole document, Line is the line of
	// the object's name. Line is 1 if Text is from an earlier version of the file.
	Line int
	// Text is a document with only this object. Secrets, and policies with users and password hashes, are saved with
	// their content only if Options.SaveSecrets is set: otherwise Text is nil for a Secret, and has a policy without users
	// (withoutUsers).
	Text []byte
	// Checked is the validated object of Text. It is nil if the object must be read from Text (result.isPlain),
	// for example because Text has a problem.
	Checked *Checked
	// Since is set if this version is served in place of the folder's version. It is the time since which that is
	// so (Stale).
	Since time.Time
}

// Unsaved returns the objects that changed since the last call of Unsaved, sorted by key. Without Options.Save
// it returns nothing.
func (s *Store) Unsaved() []Saved {
	var all []Saved
	for _, key := range slices.SortedFunc(maps.Keys(s.saves.unsaved), manifest.CompareKeys) {
		all = append(all, s.save(key))
	}
	s.saves.unsaved = map[manifest.Key]struct{}{} // a new map, because a cleared map keeps its memory
	return all
}

// Saved returns all served objects but the closed ones (closeUnreadable), sorted by key. It includes restored Secrets
// and policies whose content was not saved, with only Key and Path.
func (s *Store) Saved() []Saved {
	all := make([]Saved, 0, len(s.serving.served)+len(s.saves.absent))
	for key := range s.serving.served {
		if _, closed := s.serving.closed[key]; !closed {
			all = append(all, s.save(key))
		}
	}
	for key := range s.saves.absent {
		all = append(all, s.save(key))
	}
	slices.SortFunc(all, func(a, b Saved) int { return manifest.CompareKeys(a.Key, b.Key) })
	return all
}

// save returns the Saved of a key. It has the version that is served. If the object was restored without content, the
// Saved has only Key and Path. It has only the Key if nothing is known under it, if the object is closed (closeUnreadable),
// or if no version of it is served (Applied).
func (s *Store) save(key manifest.Key) Saved {
	if one, ok := s.saves.absent[key]; ok {
		return Saved{Key: key, Path: one.path, Text: one.text}
	}
	at, serving := s.serving.served[key]
	if _, closed := s.serving.closed[key]; closed || !serving {
		return Saved{Key: key}
	}
	saved := Saved{Key: key, Path: at.path(), Line: 1, Since: at.since()}
	if _, withheld := s.history.withheld[key]; withheld {
		return Saved{Key: key} // no version of it was served
	}
	if at.kept != nil {
		saved.Text = at.kept.text
	}
	if d := at.definition; d != nil {
		saved.Line, saved.Text = d.document.line, d.saved()
		if d.alone() != nil {
			saved.Line = d.line()
		}
		if d.document.plain {
			saved.Checked = &Checked{object: at.object, name: d.place}
		}
	}
	if !s.options.SaveSecrets && confidential(key, at.object) {
		saved.Text, saved.Checked = withoutUsers(at.object), nil
	}
	return saved
}

// Restore initializes a Store, before its first Tree, with the saved objects of another Store. If the parameter
// sound is true, the objects passed validation under the same schema.Fingerprint. Then Restore validates them only
// in part, or not at all (reader.again). Restore returns the keys of the objects that cannot be used, sorted: all
// keys if there are more objects than Options.Limits allows.
//
// Exactly one Change has the restored objects in its field Set: normally the first Change that applies a Tree.
// There is one exception: the Store finds the folder frozen before it has applied any Tree, and the content of all
// objects was saved (see Restored). Then the Change that reports the frozen folder has the restored objects.
func (s *Store) Restore(all []Saved, sound bool) (unusable []manifest.Key) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Saved) int { return manifest.CompareKeys(a.Key, b.Key) })
	if len(all) > s.options.Limits.Objects {
		for _, saved := range all {
			unusable = append(unusable, saved.Key)
			s.saves.changed(saved.Key)
		}
		return unusable
	}
	reader := s.sources.reader
	reader.sound = sound
	results := make([]*result, len(all))
	count := s.sources.counting(len(all))
	parallel(len(all), func(i int) {
		results[i] = reader.again(all[i])
		count()
	})
	for i, saved := range all {
		if !s.restore(saved, results[i]) {
			unusable = append(unusable, saved.Key)
			s.saves.changed(saved.Key)
		}
	}
	for _, f := range s.sources.files {
		f.finish()
		s.sources.tally = s.sources.tally.plus(f)
		for _, d := range f.definitions {
			key := d.object.Key
			s.serving.found[key] = append(s.serving.found[key], d)
			at := s.serving.served[key]
			at.definition = d
			s.serving.served[key] = at
		}
	}
	s.restorePolicies()
	s.saves.restored, s.history.begun, s.serving.fresh.sure = true, true, false
	return unusable
}

// again returns the result of reading a saved object. If r.sound is true, it decodes the validated object in
// saved.Checked, without a new validation. It reads and validates saved.Text instead if r.sound is false, if
// saved.Checked is missing or not usable, if the object is stale, or if the text may have a Secret that must no
// longer be saved.
func (r reader) again(saved Saved) *result {
	hides := r.save && !r.secrets && secretive(saved.Text) // may have a Secret in a comment, not saved any more
	if r.sound && saved.Checked != nil && saved.Since.IsZero() && !hides {
		if checked, err := saved.Checked.read(saved.Key); err == nil {
			r.sharer.object(checked.items[0].object)
			return checked
		}
	}
	return r.read(saved.Text)
}

// restorePolicies applies the path policies to the restored objects. Path policies are the annotations of Namespaces
// that say which files may define which objects (package tenancy). restorePolicies removes the restored objects that
// the path policies do not permit, for example because --cluster-paths changed.
//
// Without --cluster-paths there are no path policies, and restorePolicies does nothing. Then a restored Namespace
// that has such annotations stays served. If freezeForFlag finds such a Namespace, it concludes that --cluster-paths
// was forgotten.
func (s *Store) restorePolicies() {
	if !s.fence.policy.InForce() {
		return
	}
	namespaces := map[manifest.Key]struct{}{}
	drop := func(clusterScoped bool) {
		for key, at := range s.serving.served {
			if (key.Namespace == "") == clusterScoped && !s.fence.permits(at.path(), at.object) {
				s.serving.release(key, at.path())
				s.saves.changed(key)
				delete(s.serving.served, key)
			} else if isNamespace(key) {
				namespaces[key] = struct{}{}
			}
		}
	}
	drop(true)
	s.serving.declare(namespaces)
	drop(false)
}

// restore adds one saved object to the Store. The parameter r is the result of reading the object. restore
// returns false if the object cannot be used. If the object is a Secret or TrafficPolicy that was saved without
// content, or is a Secret and Options.SaveSecrets is not set, restore only records it as absent, and returns true.
func (s *Store) restore(saved Saved, r *result) bool {
	_, twice := s.serving.served[saved.Key]
	switch {
	case saved.Path == "" || twice:
		return false
	case saved.Text == nil && mayBeConfidential(saved.Key), saved.Key.Kind == kindSecret && !s.options.SaveSecrets:
		s.saves.absent[saved.Key] = absentObject{path: saved.Path}
		return true
	case r.remarks().syntax != nil || len(r.items) != 1 || r.broken && !r.items[0].twins || r.items[0].object.Key != saved.Key:
		return false
	case LacksUsers(r.items[0].object):
		s.saves.absent[saved.Key] = absentObject{saved.Path, r.items[0].object, saved.Text}
		return true
	}
	f := s.sources.files[saved.Path]
	if f == nil {
		f = &file{path: saved.Path, source: s.fence.sourceOf(saved.Path)}
		s.sources.files[saved.Path] = f
	}
	at := served{object: r.items[0].object}
	if !saved.Since.IsZero() {
		at.object.Source = f.source
		at.kept = &kept{path: saved.Path, twins: r.items[0].twins, since: saved.Since, text: saved.Text}
		s.serving.served[saved.Key] = at
		s.serving.keep(saved.Key, at, saved.Path, saved.Since)
		return true
	}
	text := part{saved.Text, max(saved.Line, 1)}
	f.documents = append(f.documents, &document{text, r})
	s.serving.served[saved.Key] = at
	return true
}

// restoredObjects returns the result of Restored, for the Change that the caller makes. Only one Change has the
// restored objects. So after a call that returned objects, later calls return nil.
func (s *Store) restoredObjects() []*manifest.Object {
	objects := s.Restored()
	if objects != nil {
		s.saves.restored = false
	}
	return objects
}

// Restored returns all objects that Restore added to the Store, sorted by key. If the folder has not changed, the
// first Change has the same objects. The result is nil if Restore was not called, or if a Change has already
// returned the objects. The result is also nil if the content of some objects was not saved, for example of a
// Secret. An update without the Secret would remove a listener that uses the Secret from running Envoys.
func (s *Store) Restored() []*manifest.Object {
	if objects, absent := s.Remembered(); len(absent) == 0 {
		return objects
	}
	return nil
}

// Remembered returns all objects that Restore added to the Store, sorted by key, and the keys of those that it knows
// without their content. It returns nothing if Restore was not called, or if a Change has already returned the objects.
func (s *Store) Remembered() (objects []*manifest.Object, absent []manifest.Key) {
	if !s.saves.restored {
		return nil, nil
	}
	return s.serving.objects(), slices.SortedFunc(maps.Keys(s.saves.absent), manifest.CompareKeys)
}

// Delivered returns one Change that has the effect of all Changes so far, for a receiver that lost its state.
// Only Set and Invalid are filled in. After Restore, the result is empty until a Change has the restored
// objects.
func (s *Store) Delivered() (all Change) {
	if s.saves.restored {
		return all
	}
	all.Set = s.serving.objects()
	all.Invalid = slices.SortedFunc(maps.Values(s.serving.invalid), compareInvalid)
	return all
}

// addMissingSecrets extends the problem of a frozen Tree if the saved state lacks the content of some objects:
// Secrets, and policies with users. The problem then also says that Envoys get no update while the folder is
// frozen. The hint is then to repair the folder, and to use --state-secrets for the next start.
func (s *Store) addMissingSecrets(p *manifest.Problem) {
	if s.saves.restored && len(s.saves.absent) > 0 {
		p.Message += fmt.Sprintf("; Envoys get no update meanwhile, as the state holds no Secrets and no users of policies, and %d objects are missing", len(s.saves.absent))
		p.Hint = "restore the folder; --state-secrets lets the state hold them, for the next start"
	}
}

// completeRestored puts every served object into change.Set, if Restore was called and no Change has had the
// restored objects yet. It also records that objects that were restored without content must be saved again. Policies
// without users that the folder no longer has, but would keep with their users, close their targets.
func (s *Store) completeRestored(change *Change, now time.Time) {
	for key, one := range s.saves.absent {
		s.saves.changed(key)
		s.history.absent[key] = struct{}{}
		if _, serving := s.serving.served[key]; !serving && one.policy != nil {
			s.keepWithoutUsers(key, one, now, change)
		}
	}
	clear(s.saves.absent)
	if s.saves.restored {
		change.Set = s.restoredObjects()
	}
}

// keepWithoutUsers makes a policy without users stay served in place of the policy that is not known, if the latter would
// stay served: its file has a mistake, for example.
func (s *Store) keepWithoutUsers(key manifest.Key, one absentObject, now time.Time, change *Change) {
	object := *one.policy
	object.Source = s.fence.sourceOf(one.path)
	before := served{object: &object, kept: &kept{path: one.path, since: now, text: one.text}}
	switch {
	case s.serving.keeps(before):
		s.serving.served[key] = before
		s.serving.keep(key, before, one.path, now)
	case !s.serving.keepNothing:
		s.serving.keepMoved(key, before, now, change)
	}
}
