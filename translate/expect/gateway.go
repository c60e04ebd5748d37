package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// maxNamed bounds the Gateways that a hint names.
const maxNamed = 5

// KnownGateways returns the lines whose GATEWAY the folder has, or that name none, and a problem for
// each of the others: nothing listens on a Gateway that does not exist, whatever the port.
func KnownGateways(facts explain.Facts, requests []Request) (known []Request, problems []manifest.Problem) {
	names := map[string]bool{}
	for _, gateway := range facts.View.Gateways {
		names[gateway.Name] = true
	}
	for _, update := range facts.Statuses { // also those that do not serve
		if update.Key.Kind == "Gateway" {
			names[update.Key.Namespace+"/"+update.Key.Name] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	for _, r := range requests {
		if r.Gateway == "" || names[r.Gateway] {
			known = append(known, r)
			continue
		}
		word := "GATEWAY:" + r.Gateway
		problems = append(problems, manifest.Problem{
			Code: InvalidTest, Severity: manifest.Error, File: r.File, Line: r.Number, Column: column(r.Line, word) + r.indent,
			Message: fmt.Sprintf("there is no Gateway %s", r.Gateway), Hint: gatewayHint(r.Gateway, sorted),
		})
	}
	return known, problems
}

func gatewayHint(name string, all []string) string {
	switch near := manifest.Nearest(name, all); {
	case len(all) == 0:
		return "the folder has no Gateway"
	case near != "":
		return fmt.Sprintf("did you mean %s?", near)
	case len(all) > maxNamed:
		return fmt.Sprintf("write one of %s and %d more", strings.Join(all[:maxNamed], ", "), len(all)-maxNamed)
	}
	return "write one of " + strings.Join(all, ", ")
}
