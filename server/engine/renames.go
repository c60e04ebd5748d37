package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// renamesAmong returns the routes and policies that edits only give another name or namespace: for each object that is gone,
// the new one that is otherwise the same. What a typo does to a name must not leave a route without its policy.
func renamesAmong(edits []store.Edit) map[manifest.Key]manifest.Key {
	renamed, created := map[manifest.Key]manifest.Key{}, map[[sha256.Size]byte]manifest.Key{}
	mayBe := func(e store.Edit) bool { return isRoute(e.Key) || isPolicy(e.Key) }
	gone := slices.DeleteFunc(slices.Clone(edits), func(e store.Edit) bool { return !mayBe(e) || e.Before == nil || e.After != nil })
	if len(gone) == 0 {
		return renamed
	}
	for _, e := range edits {
		if mayBe(e) && e.Before == nil && e.After != nil {
			created[withoutName(e.After)] = e.Key
		}
	}
	if len(created) == 0 {
		return renamed
	}
	for _, e := range gone {
		if to, found := created[withoutName(e.Before)]; found {
			renamed[e.Key] = to
		}
	}
	return renamed
}

// withoutName returns a hash of all of an object but its name and namespace.
func withoutName(o *manifest.Object) (sum [sha256.Size]byte) {
	var content map[string]any
	text, err := json.Marshal(o.Value)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "name")
		delete(metadata, "namespace")
	}
	if err == nil {
		text, err = json.Marshal([]any{o.Key.Kind, content})
	}
	if err != nil { // it was read from JSON
		panic(err)
	}
	return sha256.Sum256(text)
}

// addRenames adds an error for each route that gets another name while a policy that protects it still names it as before.
// The policy as it is served in this round counts. If a text of the unit is invalid, the unit waits for that text.
func (j *judging) addRenames(all map[manifest.Key][]manifest.Problem) {
	namespaces := map[string]bool{}
	for key := range j.renamed {
		namespaces[key.Namespace] = true
	}
	if len(namespaces) == 0 {
		return
	}
	for _, policy := range j.reader.store.ServedIn(namespaces, isPolicy) {
		if !protects(policy) {
			continue
		}
		for _, target := range store.NamedTargets(policy) {
			to, renamed := j.renamed[target]
			if u := j.member[target]; renamed && u != nil && u.failed.IsZero() && j.reader.store.Served(target) == nil {
				all[target] = append(all[target], manifest.Problem{
					Code: sectionInUse, Severity: manifest.Error, Object: target,
					Message: fmt.Sprintf("the edit renames %s to %s, and %s, which protects it, has the old name", target, to, policy.Key),
					Hint:    fmt.Sprintf("give it the old name back, or write the new one into the targets of %s, too: both take effect together", policy.Key),
					Cause:   manifest.Field{Object: to, Path: "metadata.name"},
				})
			}
		}
	}
}
