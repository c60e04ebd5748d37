package expect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// gatewayGroup is the API group of Gateways.
const gatewayGroup = "gateway.networking.k8s.io"

// maxNamed is the highest number of Gateways that a hint names.
const maxNamed = 5

// KnownGateways checks the option GATEWAY, by which a line names its Gateway. The result known has the lines
// without this option, and the lines whose Gateway exists in the folder, even if the Gateway is not served. For
// each other line, KnownGateways returns a problem.
func KnownGateways(facts explain.Facts, requests []Request) (known []Request, problems []manifest.Problem) {
	var serving []string
	for _, gateway := range facts.View.Gateways {
		serving = append(serving, gateway.Name)
	}
	slices.Sort(serving)
	exists := func(name string) bool {
		if slices.Contains(serving, name) {
			return true
		}
		namespace, own, _ := strings.Cut(name, "/")
		key := manifest.Key{Group: gatewayGroup, Kind: "Gateway", Namespace: namespace, Name: own}
		return facts.Places != nil && facts.Places([]manifest.Field{{Object: key}})[0].File != "" // also a Gateway that is not served
	}
	for _, r := range requests {
		if r.Gateway == "" || exists(r.Gateway) {
			known = append(known, r)
			continue
		}
		word := "GATEWAY:" + r.Gateway
		problems = append(problems, manifest.Problem{
			Code: InvalidTest, Severity: manifest.Error, File: r.File, Line: r.Number, Column: column(r.Line, word) + r.indent,
			Message: fmt.Sprintf("there is no Gateway %s", r.Gateway), Hint: gatewayHint(r.Gateway, serving),
		})
	}
	return known, problems
}

// gatewayHint returns what to do about a line whose Gateway does not exist. name is the name in the line. The
// parameter all has the names of the served Gateways. The hint proposes one or several of these, or says that no
// Gateway is served.
func gatewayHint(name string, all []string) string {
	switch near := manifest.Nearest(name, all); {
	case len(all) == 0:
		return "no Gateway of the folder serves"
	case near != "":
		return fmt.Sprintf("did you mean %s?", near)
	case len(all) > maxNamed:
		return fmt.Sprintf("write one of %s and %d more", strings.Join(all[:maxNamed], ", "), len(all)-maxNamed)
	}
	return "write one of " + strings.Join(all, ", ")
}
