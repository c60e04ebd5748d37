package delta

import (
	"strings"

	"github.com/gatefold/gatefold/translate/xds"
)

// blames reports whether Envoy's error (words) names this cluster or listener as bad. Such an error looks like
// "Error adding/updating cluster(s) a: why, b: why" (docs/design/envoy.md#nacks).
func blames(words, name string) bool {
	if !strings.HasPrefix(words, "Error adding/updating ") {
		return false
	}
	for _, before := range []string{"(s) ", ", ", "\n"} {
		if strings.Contains(words, before+name+": ") {
			return true
		}
	}
	return false
}

// constraintMark is in Envoy's error if a field breaks a rule of the API. Envoy prints the whole message before
// the mark, and the rule after it.
const constraintMark = "Proto constraint validation failed"

// maxWords bounds how many bytes of Envoy's error are stored.
const maxWords = 1000

// keyMark is the text before the API key in Envoy's error that two clients have the same key. plainWords removes the
// key that follows this text. Envoy should never send this error, because translate rejects equal keys.
const keyMark = "credential key:"

// redacted replaces text that may contain secrets.
const redacted = "[redacted]"

// plainWords returns the useful part of Envoy's error (words), without the content of secrets, in at most about
// maxWords bytes. If the error contains constraintMark, only the text from this mark on is used. Otherwise, if typ
// is the type of secrets, an error that is long or contains PEM data is replaced by the constant redacted.
func plainWords(typ, words string) string {
	if at := strings.LastIndex(words, constraintMark); at >= 0 {
		words = words[at:]
	} else if typ == xds.SecretType && (len(words) > 200 || strings.Contains(words, "-----BEGIN")) {
		return redacted
	}
	if before, _, found := strings.Cut(words, keyMark); found {
		words = before + keyMark + " " + redacted
	}
	if len(words) > maxWords {
		words = words[:maxWords] + "…"
	}
	return strings.ToValidUTF8(strings.TrimSpace(words), "?")
}
