package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// lowerHeaderModifiers converts the policy field headerModifiers (see Field.lower).
func lowerHeaderModifiers(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	at := ir.FieldHeaderModifiers.Path()
	var request, response []manifest.Problem
	extras.RequestHeaders, request = headerMods(at+".request", from.HeaderModifiers.Request)
	extras.ResponseHeaders, response = headerMods(at+".response", from.HeaderModifiers.Response)
	return append(request, response...)
}

// headerMods converts header changes. nil means no changes. The parameter at is the path of the changes.
func headerMods(at string, from *api.HeaderFilter) (ir.HeaderMods, []manifest.Problem) {
	if from == nil {
		return ir.HeaderMods{}, nil
	}
	mods := ir.HeaderMods{Remove: from.Remove}
	for _, h := range from.Set {
		mods.Set = append(mods.Set, ir.Header{Name: h.Name, Value: h.Value})
	}
	for _, h := range from.Add {
		mods.Add = append(mods.Add, ir.Header{Name: h.Name, Value: h.Value})
	}
	return mods, OneEntryEach(at, &mods)
}

// codeTwoLists is the code of a header that is in two lists of one modifier.
const codeTwoLists = "HeaderInTwoLists"

// OneEntryEach leaves only the first entry of each header in the lists set and add of mods (Gateway API,
// HTTPHeaderFilter.set: "only the first entry with an equivalent name MUST be considered for a match"). It returns a
// warning for each other entry, and for each header that is in two of the three lists. The parameter at is the path of
// the lists in their object. The caller adds the object to the problems.
func OneEntryEach(at string, mods *ir.HeaderMods) (problems []manifest.Problem) {
	mods.Set, problems = firstEntries(at+".set", mods.Set)
	var more []manifest.Problem
	mods.Add, more = firstEntries(at+".add", mods.Add)
	problems = append(problems, more...)
	has := func(list []ir.Header, name string) bool {
		return slices.ContainsFunc(list, func(h ir.Header) bool { return strings.EqualFold(h.Name, name) })
	}
	for i, h := range mods.Add {
		if has(mods.Set, h.Name) {
			problems = append(problems, twoLists(fmt.Sprintf("%s.add[%d]", at, i), h.Name, "set", "add"))
		}
	}
	for i, name := range mods.Remove {
		for _, list := range []struct {
			name    string
			headers []ir.Header
		}{{"set", mods.Set}, {"add", mods.Add}} {
			if has(list.headers, name) {
				problems = append(problems, twoLists(fmt.Sprintf("%s.remove[%d]", at, i), name, list.name, "remove"))
			}
		}
	}
	return problems
}

// firstEntries returns a list without the entries whose header an earlier entry has, in any case of letters. Each of
// these entries has a warning. The parameter at is the path of the list.
func firstEntries(at string, list []ir.Header) (first []ir.Header, problems []manifest.Problem) {
	for i, h := range list {
		before := slices.IndexFunc(first, func(f ir.Header) bool { return strings.EqualFold(f.Name, h.Name) })
		if before < 0 {
			first = append(first, h)
			continue
		}
		problems = append(problems, warning(fmt.Sprintf("%s[%d]", at, i),
			fmt.Sprintf("%s is ignored: an earlier entry of the list has the header, as %s, and only the first one counts", h.Name, first[before].Name), "remove one of the two"))
	}
	return first, problems
}

// twoLists returns the warning that two lists of one modifier have the same header.
func twoLists(field, name, one, other string) manifest.Problem {
	return manifest.Problem{
		Code: codeTwoLists, Severity: manifest.Warning, Field: field,
		Message: fmt.Sprintf("%s is in %s and in %s: the Gateway API does not permit a header in two of these lists. Envoy first removes, then sets, then adds", name, one, other),
		Hint:    "leave it in one of the lists; two values of one header can be one value, with a comma between them",
	}
}
