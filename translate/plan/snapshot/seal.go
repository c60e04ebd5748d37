package snapshot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/gatefold/gatefold/translate/ir"
)

// sumBytes is the length of a sum in a snapshot. It is long enough to compare two sums.
const sumBytes = 8

// seal replaces secrets by sums: HMAC-SHA256 with the key of a snapshot. Equal secrets have equal sums, so they
// can be compared without being known.
type seal struct{ key []byte }

// sum returns the first sumBytes bytes of the HMAC of the texts. The lengths of the texts are part of the sum,
// so that "a", "bc" and "ab", "c" differ.
func (s seal) sum(texts ...string) []byte {
	h := hmac.New(sha256.New, s.key)
	for _, text := range texts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	return h.Sum(nil)[:sumBytes]
}

// text returns the HMAC of the texts (see the method sum), written in hex.
func (s seal) text(texts ...string) string { return hex.EncodeToString(s.sum(texts...)) }

// rule returns a copy of a rule in which sums replace the secrets. It leaves out Blocks, which only the
// ordering of rules needs.
func (s seal) rule(rule *ir.Rule) *ir.Rule {
	out := *rule
	out.Blocks = nil
	if extras := rule.Action.Extras; extras != nil && (extras.BasicAuth != nil || extras.APIKeyAuth != nil || extras.JWTAuth != nil) {
		out.Action.Extras = s.extras(*extras)
	}
	return &out
}

// extras returns a copy of extras without secrets. A sum (see seal) replaces each list of credentials and the
// keys of each JWT provider.
func (s seal) extras(extras ir.Extras) *ir.Extras {
	if extras.BasicAuth != nil {
		sealed := *extras.BasicAuth
		sealed.List = s.credentials(sealed.List)
		extras.BasicAuth = &sealed
	}
	if extras.APIKeyAuth != nil {
		sealed := *extras.APIKeyAuth
		sealed.List = s.credentials(sealed.List)
		extras.APIKeyAuth = &sealed
	}
	if extras.JWTAuth != nil && extras.JWTAuth.Extension != nil && extras.JWTAuth.Extension.JWT != nil {
		sealed, extension := *extras.JWTAuth, *extras.JWTAuth.Extension
		extension.JWT = s.tokens(*extension.JWT)
		sealed.Extension = &extension
		extras.JWTAuth = &sealed
	}
	return &extras
}

// credentials returns a list that has the same length and no secrets. The Name of its first element is one
// HMAC (see sum) over all names and secrets of the list. The other elements are empty. So two returned lists are
// equal only if all their credentials were equal.
func (s seal) credentials(list []ir.Credential) []ir.Credential {
	if len(list) == 0 {
		return list
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, one.Name, string(one.Secret))
	}
	out := make([]ir.Credential, len(list))
	out[0].Name = s.text(texts...)
	return out
}

// tokens returns a copy of jwt in which sums replace the keys of providers, because such keys may be symmetric.
func (s seal) tokens(jwt ir.JWT) *ir.JWT {
	providers := jwt.Providers
	jwt.Providers = nil
	for _, p := range providers {
		if p.Keys != "" {
			p.Keys = s.text(p.Keys)
		}
		jwt.Providers = append(jwt.Providers, p)
	}
	return &jwt
}
