package translate

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
)

// The discovery documents of OpenID providers are inputs, like objects. No rule requests a document. A Result
// names the issuers whose documents are needed, and the caller of the Translator sets their answers
// (docs/design/policies.md).

// Discoveries are the known answers of issuers, by issuerURI. They are immutable.
type Discoveries map[string]ir.IssuerAnswer

// discoveryInputs is the input with the known answer of each issuer, by issuerURI. The field present has the same
// answers, so that the method replace can find the keys to delete.
type discoveryInputs struct {
	*memo.Input[string, ir.IssuerAnswer]
	present Discoveries
}

func newDiscoveryInputs(e *memo.Engine) *discoveryInputs {
	return &discoveryInputs{Input: memo.NewInput[string](e, "discoveries", identical[ir.IssuerAnswer])}
}

// replace stores the given answers (set) as the values of the input, and deletes all other answers.
func (d *discoveryInputs) replace(set Discoveries) {
	replace(d.Input, d.present, set)
	d.present = maps.Clone(set)
}

// codeIssuerNotAsked is the code of the problem that the discovery document of an issuer was not requested yet.
// The problem is a warning, because the folder has no mistake. But the targets of policies that use the extension
// still fail closed.
const codeIssuerNotAsked = "IssuerNotAsked"

// discover reads the discovery document of an issuer. From the document, it sets those endpoints of the parameter
// provider that the GatewayExtension leaves out. If the document is known, the result is true. Otherwise the result
// is false, and discover appends to problems a warning if the document was not requested yet, or an error if the
// issuer has no usable answer.
func (r *extensionRules) discover(c *memo.Ctx, issuer string, provider *ir.SignIn, problems *[]manifest.Problem) bool {
	found, asked := r.in.discoveries.Get(c, issuer)
	if asked && found.Known() {
		policy.SetEndpoints(provider, found)
		return true
	}
	problem := manifest.Problem{
		Code: codeIssuerNotAsked, Severity: manifest.Warning, Field: "spec.oauth2.issuerURI",
		Message: fmt.Sprintf("the endpoints are not known here, as only `gatefold serve` asks %s for them; policies that use the extension close their targets until it has an answer", ir.DiscoveryURL(issuer)),
		Hint:    "nothing, if serve runs; or write authorizationEndpoint and tokenEndpoint",
	}
	if asked {
		problem.Code, problem.Severity = "IssuerNoAnswer", manifest.Error
		problem.Message = fmt.Sprintf("the endpoints are not known, as %s has no usable answer: %s; policies that use the extension close their targets until it has one", ir.DiscoveryURL(issuer), found.Fault)
		problem.Hint = cmp.Or(found.Hint, "see why the identity provider does not answer, or write authorizationEndpoint and tokenEndpoint")
	}
	*problems = append(*problems, problem)
	return false
}

// closes reports whether a problem of a policy or an extension makes the targets fail closed.
func closes(problem *manifest.Problem) bool {
	return problem.Severity == manifest.Error || problem.Code == codeIssuerNotAsked
}

// issuerUse is an issuer and an extension that needs the issuer's discovery document.
type issuerUse struct {
	Issuer    string
	Extension manifest.Key
}

func compareIssuers(a, b issuerUse) int {
	return cmp.Or(strings.Compare(a.Issuer, b.Issuer), manifest.CompareKeys(a.Extension, b.Extension))
}

// newIssuers declares the memo.Fold that lists the needed discovery documents: each issuer, with the extension that
// needs the discovery document of this issuer.
func newIssuers(e *memo.Engine, extension *memo.Rule[manifest.Key, *extensionOut]) *memo.Fold[struct{}, manifest.Key, issuerUse, ordered.Set[issuerUse]] {
	all := memo.NewFold[struct{}, manifest.Key, issuerUse](e, "issuers", gather[manifest.Key](compareIssuers), ordered.Set[issuerUse].Same)
	memo.From(all, extension, func(key manifest.Key, x *extensionOut, yield func(memo.Place[struct{}, manifest.Key], issuerUse)) {
		if x.Issuer != "" {
			yield(memo.Place[struct{}, manifest.Key]{ID: key}, issuerUse{x.Issuer, key})
		}
	}, identical)
	return all
}
