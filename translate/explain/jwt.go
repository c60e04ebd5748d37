package explain

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// No text of this file contains a token or a part of a token.

// jwtAuthWords returns, as text, the providers of jwtAuth of the policies, and whether a token of one of them is
// required or only checked. It returns TurnedOff if a policy turns jwtAuth off.
func jwtAuthWords(extras *ir.Extras) string {
	if extras.JWTAuth == nil {
		return TurnedOff
	}
	tokens, names := extras.JWTAuth.Extension.JWT, []string{}
	for _, p := range tokens.Providers {
		names = append(names, p.Name)
	}
	of := "a token of " + strings.Join(names, " or ")
	words := of + " is required"
	switch {
	case tokens.Rejected != "":
		words += "; Envoy rejected these providers, and answers 403"
	case tokens.Failed:
		words = of + " is checked; requests without a valid one pass, too"
	case tokens.Missing:
		words = of + " is checked; requests without one pass, too"
	}
	return words
}

// tokenFault is the reason why a provider does not accept a request's token.
type tokenFault struct {
	why string
	// missing is true if the request has no token. foreign is true if another issuer issued the token.
	missing, foreign bool
	// audience is true if the token is for another audience.
	audience bool
	// unknown is true if only Envoy can verify the token, because the keys are not in the folder.
	unknown bool
}

// jwtAuthGate checks the tokens of a request as Envoy does. The gate is empty if the request passes. If only Envoy
// can verify the token, gate.status is 0, and a text in gate.unless says that the token may be rejected. Otherwise
// Envoy answers the request itself. The status is 403 if the token is for another audience, or if Envoy rejected the
// configuration of the JWT providers (ir.JWT.Rejected). In any other case the status is 401.
func jwtAuthGate(rule *ir.Rule, r *request) gate {
	auth := rule.Action.Extras.OrNone().JWTAuth
	if auth == nil {
		return gate{}
	}
	tokens := auth.Extension.JWT
	by := partsOf(&rule.Action, ir.FieldJWTAuth.PartKind())
	if tokens.Rejected != "" {
		return gate{status: http.StatusForbidden, why: "Envoy does not have the providers of " + by + ", which it rejected: " + tokens.Rejected}
	}
	_, _, fault := r.provider(tokens)
	switch {
	case fault == nil, tokens.Failed:
		return gate{}
	case fault.unknown:
		return gate{unless: []string{fmt.Sprintf("jwtAuth: the token is not accepted (%d): %s", http.StatusUnauthorized, fault.why)}}
	case fault.missing && tokens.Missing:
		return gate{}
	case fault.audience:
		return gate{status: http.StatusForbidden, why: "Envoy rejects the request by " + by + ": " + fault.why}
	}
	return gate{status: http.StatusUnauthorized, why: "Envoy rejects the request by " + by + ": " + fault.why}
}

// provider looks for the first provider that accepts the tokens of a request, or that may accept them because only
// Envoy can verify them. There are three results:
//   - The provider certainly accepts the tokens: found is this provider, used is a token (see verified), and fault is
//     nil.
//   - The provider may accept the tokens: found and used are set, too, and fault.unknown is true.
//   - No provider accepts the tokens: found and used are nil, and fault is the reason of one provider.
//
// In the last case, each provider has a reason of its own (tokenFault). Like Envoy, provider returns one of them:
//   - the last reason that is neither missing nor foreign
//   - if there is no such reason, the first one that is foreign
//   - otherwise one that is missing
func (r *request) provider(tokens *ir.JWT) (found *ir.JWTProvider, used *token, fault *tokenFault) {
	fault = &tokenFault{why: "it has no token", missing: true}
	for i := range tokens.Providers {
		p := &tokens.Providers[i]
		used, why := r.verified(p)
		switch {
		case why == nil:
			return p, used, nil
		case why.unknown:
			return p, used, why
		case !why.missing && !why.foreign, why.foreign && fault.missing:
			fault = why
		}
	}
	return nil, nil, fault
}

// verified checks the tokens that a request has for a provider, from the last to the first, as Envoy does. The
// provider accepts the tokens only if all of them are valid. If the provider certainly does not accept them, fault is
// the reason, and used is nil. Otherwise used is the token that is checked at the end, the first one of the request:
// writeClaims takes the claims from it. If only Envoy can verify a token, fault.unknown is true. If all tokens are
// certainly valid, fault is nil.
func (r *request) verified(p *ir.JWTProvider) (used *token, fault *tokenFault) {
	texts := r.tokensAt(p)
	if len(texts) == 0 {
		return nil, &tokenFault{why: "it has no token", missing: true}
	}
	var unknown *tokenFault
	for i := len(texts) - 1; i >= 0; i-- {
		t, why := readToken(texts[i])
		if why != "" {
			return nil, &tokenFault{why: why}
		}
		if fault := t.fault(p, r.now); fault != nil && !fault.unknown {
			return nil, fault
		} else if fault != nil {
			unknown = fault
		}
		used = t
	}
	return used, unknown
}

// tokensAt returns the tokens of a request in the header or query parameter that a provider names. It leaves
// out header values without the provider's Prefix.
func (r *request) tokensAt(p *ir.JWTProvider) (texts []string) {
	if p.Header == "" {
		if text := parameterOf(r, p.Query); text != "" {
			texts = append(texts, text)
		}
		return texts
	}
	for _, value := range r.headers[p.Header] {
		if p.Prefix == "" {
			texts = append(texts, value)
			continue
		}
		if _, after, found := strings.Cut(value, p.Prefix); found {
			begin := strings.IndexFunc(after, inToken)
			if begin < 0 {
				texts = append(texts, value)
			} else {
				texts = append(texts, after[begin:])
			}
		}
	}
	return texts
}

// inToken reports whether a character may be part of a JWT.
func inToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// writeClaims changes the headers of a request that jwtAuth lets pass. Some headers tell the backend the claims of
// the token (claimsToHeaders). writeClaims removes such headers that the client sent, and adds its own. It removes
// the header with the token, unless the token is forwarded. A token in a query parameter is not removed.
func writeClaims(r *request, headers headerFields, extras *ir.Extras) {
	auth := extras.JWTAuth
	if auth == nil {
		return
	}
	tokens := auth.Extension.JWT
	p, t, _ := r.provider(tokens)
	for _, name := range r.claims {
		headers.remove(name)
	}
	if p == nil {
		return
	}
	for _, claim := range p.Claims {
		if value := t.claim(claim.Claim); value != "" {
			headers.add(claim.Header, value)
		}
	}
	if !p.Forward && p.Header != "" {
		headers.remove(p.Header)
	}
}
