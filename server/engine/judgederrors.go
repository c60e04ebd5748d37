package engine

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/status"
)

// countsForEdits reports whether a problem may hold an edit: an error, or an issuer that was not asked yet.
func countsForEdits(p manifest.Problem) bool {
	return ofIssuer(p) || p.Severity == manifest.Error && !ofSurroundings(p.Code) && p.Code != "NotServed"
}

// ofIssuer reports whether a problem is that the answer of an OpenID provider is missing.
func ofIssuer(p manifest.Problem) bool {
	return p.Code == "IssuerNotAsked" || p.Code == "IssuerNoAnswer"
}

// errorsNow returns the errors of the translation, of objects with an edit.
func (j *judging) errorsNow() map[manifest.Key][]manifest.Problem {
	all := j.errorsAmong(j.translation.translator.Preview().Problems)
	j.addSectionsInUse(all)
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
		for _, cause := range j.contents {
			if cause != p.Object && isNamed(cause, p) {
				own := p
				own.Object, own.Field = cause, ""
				all[cause] = append(all[cause], own)
			}
		}
	}
	return all
}

// policiesHurt returns the policies and extensions that have an error because of the content of an edited Secret or ConfigMap,
// with their statuses. The edit must be applied still.
func (j *judging) policiesHurt(content manifest.Key) map[manifest.Key]*status.Update {
	if !slices.Contains(j.contents, content) {
		return nil
	}
	all := map[manifest.Key]*status.Update{}
	for _, p := range j.translation.translator.Preview().Problems {
		if countsForEdits(p) && usesCredentials(p.Object) && isNamed(content, p) {
			all[p.Object] = j.translation.translator.Status(p.Object)
		}
	}
	return all
}

// contentsOf returns the Secrets and ConfigMaps whose content is edited.
func contentsOf(edits []store.Edit) (all []manifest.Key) {
	for _, e := range edits {
		if (e.Key.Kind == "Secret" || e.Key.Kind == "ConfigMap") && e.Before != nil && e.After != nil {
			all = append(all, e.Key)
		}
	}
	return all
}

// isNamed reports whether the message of a problem names an object: with its namespace, or without it in the same one.
func isNamed(key manifest.Key, p manifest.Problem) bool {
	names := []string{key.String()}
	if key.Namespace == p.Object.Namespace {
		names = append(names, key.Kind+" "+key.Name)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		before, after, found := strings.Cut(p.Message, name)
		return found && (before == "" || strings.HasSuffix(before, " ")) && (after == "" || strings.ContainsAny(after[:1], " :,;"))
	})
}
