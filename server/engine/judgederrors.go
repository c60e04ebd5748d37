package engine

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// countsForEdits reports whether a problem may hold an edit: an error, an issuer that was not asked yet, or connections
// that another route has.
func countsForEdits(p manifest.Problem) bool {
	return ofIssuer(p) || ofStream(p) || p.Severity == manifest.Error && !ofSurroundings(p.Code) && p.Code != "NotServed"
}

// ofIssuer reports whether a problem is that the answer of an OpenID provider is missing.
func ofIssuer(p manifest.Problem) bool {
	return p.Code == "IssuerNotAsked" || p.Code == "IssuerNoAnswer"
}

// ofStream reports whether a problem is that another TCPRoute, TLSRoute or UDPRoute has what the object asks for. That is
// only a warning where nothing was served before.
func ofStream(p manifest.Problem) bool {
	return p.Code == "OlderRouteWins" || p.Code == "Shadowed" && route.IsStream(p.Object)
}

// errorsNow returns the errors of the translation, of objects with an edit.
func (j *judging) errorsNow() map[manifest.Key][]manifest.Problem {
	all := j.errorsAmong(j.translation.translator.Preview().Problems)
	j.addSectionsInUse(all)
	j.addRenames(all)
	return all
}

// errorsAmong returns the errors among problems, of objects with an edit. An error of another object that a Secret or
// ConfigMap causes is one of the Secret, too.
func (j *judging) errorsAmong(problems []manifest.Problem) map[manifest.Key][]manifest.Problem {
	all := map[manifest.Key][]manifest.Problem{}
	for _, p := range problems {
		if !countsForEdits(p) {
			continue
		}
		if j.member[p.Object] != nil {
			all[p.Object] = append(all[p.Object], p)
		}
		for _, content := range j.contentsNamed(p) {
			own := p
			own.Object, own.Field = content, ""
			all[content] = append(all[content], own)
		}
	}
	return all
}

// usersOfContents returns the policies and extensions that have an error because of the content of an edited Secret or
// ConfigMap, by the Secret or ConfigMap, with their statuses. The edits must be applied still.
func (j *judging) usersOfContents() map[manifest.Key]map[manifest.Key]*status.Update {
	all := map[manifest.Key]map[manifest.Key]*status.Update{}
	if len(j.contents) == 0 {
		return all
	}
	for _, p := range j.translation.translator.Preview().Problems {
		if !countsForEdits(p) || !usesCredentials(p.Object) {
			continue
		}
		for _, content := range j.contentsNamed(p) {
			if all[content] == nil {
				all[content] = map[manifest.Key]*status.Update{}
			}
			all[content][p.Object] = j.translation.translator.Status(p.Object)
		}
	}
	return all
}

// contentsOf returns the Secrets and ConfigMaps whose content is edited, as they are after it.
func contentsOf(edits []store.Edit) map[manifest.Key]*manifest.Object {
	all := map[manifest.Key]*manifest.Object{}
	for _, e := range edits {
		if (e.Key.Kind == "Secret" || e.Key.Kind == "ConfigMap") && e.Before != nil && e.After != nil {
			all[e.Key] = e.After
		}
	}
	return all
}

// contentsNamed returns the edited Secrets and ConfigMaps that the message of a problem of another object names: with their
// namespace, or without it in the same one. Of an object that selects Secrets by labels, it returns those that are selected.
func (j *judging) contentsNamed(p manifest.Problem) (all []manifest.Key) {
	if len(j.contents) == 0 {
		return nil
	}
	words := strings.Fields(p.Message)
	for i, kind := range words[:max(0, len(words)-1)] {
		if kind != "Secret" && kind != "ConfigMap" {
			continue
		}
		namespace, name, whole := strings.Cut(strings.TrimRight(words[i+1], ":,;"), "/")
		if !whole {
			namespace, name = p.Object.Namespace, namespace
		}
		key := manifest.Key{Kind: kind, Namespace: namespace, Name: name}
		if j.contents[key] != nil && key != p.Object && !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	if len(all) == 0 && p.Code == "InvalidCredentials" {
		return j.contentsSelected(p.Object)
	}
	return all
}

// contentsSelected returns the edited Secrets that a policy selects by labels.
func (j *judging) contentsSelected(policy manifest.Key) (all []manifest.Key) {
	object := j.reader.store.Served(policy)
	if object == nil {
		return nil
	}
	for _, use := range credentialsOf(object) {
		for key, after := range j.contents {
			if use.labels != nil && use.selects(key, after) {
				all = append(all, key)
			}
		}
	}
	return all
}
