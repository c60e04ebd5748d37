package store

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// A text that cannot be read may be a policy, and nobody knows what it would have protected. So its words count: what
// it names answers an error (serving.closeUnreadable). Nothing is guessed of what the text may have meant.

// wording has the words of a text that may be a policy and cannot be read.
type wording struct {
	// all are the words of the text, and named are those that may name what the policy is for. Both are sorted, and
	// have each word once.
	all, named []string
	// backends is true if the text may be a BackendTLSPolicy: then Services and Backends count, too.
	backends bool
	// astray is true if only the namespace of the policy may be lost. Then named are its targets, which count in other
	// namespaces than "default", too.
	astray bool
	place  place       // of the object in the document
	cause  spotOfError // the first error of the object; zero for the first error of the document
}

// targetWord matches where a text begins to say what a policy is for.
var targetWord = regexp.MustCompile(`(?i)\btarget(?:ref|selector)`)

// topLine matches a line that begins with the key kind or apiVersion, and its value.
var topLine = regexp.MustCompile(`(?m)^["']?(kind|apiVersion)["']?[ \t]*:[ \t]*["']?([^\s"',#}]*)`)

// harmlessKinds returns the kinds that protect nothing, whatever stands in them.
func harmlessKinds() []string {
	return []string{
		"HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute", "Service", "Backend", "Secret", "ConfigMap",
		"ReferenceGrant", "EndpointSlice", "GatewayExtension", "BackendConfigPolicy", "Gateway", "ListenerSet", "GatewayClass",
	}
}

// readWords returns the words of a text.
func readWords(text []byte) *wording {
	w := &wording{all: wordsIn(text)}
	w.named, w.backends = w.all, w.has(kindBackendTLSPolicy)
	if at := targetWord.FindIndex(text); at != nil {
		w.named = wordsIn(text[at[1]:])
	}
	for _, kind := range topValues(text, "kind") {
		w.backends = w.backends || isNearly(kind, kindBackendTLSPolicy)
	}
	return w
}

// wordsOf returns the words of a text that cannot be read. It returns nil if the text is no policy: if it has none of
// the words by which a policy is known, also one of another product (isClosing), if it is a text of another program, or if
// it has only objects of harmlessKinds.
func wordsOf(text []byte) *wording {
	if bytes.IndexByte(text, 0) >= 0 { // UTF-16
		text = bytes.ReplaceAll(text, []byte{0}, nil)
	}
	kinds, versions := topValues(text, "kind"), topValues(text, "apiVersion")
	harmless := allAre(kinds, func(kind string) bool { return slices.Contains(harmlessKinds(), kind) })
	foreign := allAre(kinds, func(kind string) bool {
		return kind != "" && !strings.Contains(kind, "{") && nearestKind(kind) == nil
	}) && allAre(versions, func(version string) bool {
		group, _, grouped := strings.Cut(version, "/")
		return grouped && !strings.Contains(version, "{") && !isOwnGroup(group)
	})
	misspelt := slices.ContainsFunc(kinds, func(kind string) bool {
		return isNearly(kind, api.KindTrafficPolicy) || isNearly(kind, kindBackendTLSPolicy)
	})
	closing := isClosing(text, kinds, versions)
	switch {
	case harmless:
		return nil
	case closing != nil:
		return readWords(text)
	case foreign || !misspelt && !containsAny(text, gatewayGroup, api.Group, api.KindTrafficPolicy, kindBackendTLSPolicy, "targetRef", "targetSelectors"):
		return nil
	}
	w := readWords(text)
	if misspelt || w.backends || len(kinds) == 0 && w.has(gatewayGroup) ||
		slices.ContainsFunc([]string{api.Group, api.KindTrafficPolicy, "targetRef", "targetRefs", "targetSelectors"}, w.has) {
		return w
	}
	return nil
}

// isClosing returns the policy of another product that closes its targets (schema.ClosingKinds), and that a text may be.
// The text has nearly its kind and its group, or one of the two where the other is missing. The result is nil if the text is
// none. The other parameters are the topValues of the text.
func isClosing(text []byte, kinds, versions []string) *schema.KindNotServed {
	closing := schema.ClosingKinds()
	i := slices.IndexFunc(closing, func(k schema.KindNotServed) bool {
		kind := slices.ContainsFunc(kinds, func(kind string) bool { return isNearly(kind, k.Kind) })
		group := slices.ContainsFunc(versions, func(version string) bool {
			group, _, _ := strings.Cut(version, "/")
			return isNearly(group, k.Group) || strings.HasPrefix(version, k.Group)
		})
		return kind && (group || len(versions) == 0) || len(kinds) == 0 && (group || bytes.Contains(text, []byte(k.Group+"/")))
	})
	if i < 0 {
		return nil
	}
	return &closing[i]
}

// meantToClose does what isClosing does for an object that can be parsed, and may have targets.
func (d *documentReader) meantToClose(at fieldPath, object map[string]any) *schema.KindNotServed {
	kinds, versions := textsIn(writtenAs(object, "kind")), textsIn(writtenAs(object, "apiVersion"))
	if len(at) > 0 && len(kinds)+len(versions) == 0 {
		return nil
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	like := isClosing(d.text, kinds, versions)
	if like == nil || annotations[schema.IgnoreAnnotation] == "true" || !mayHaveTargets(object) {
		return nil
	}
	return like
}

// closeMisspelt has the words of an object count that is meantToClose and cannot be read because of the given problems, and
// returns true. It returns false for other objects.
func (d *documentReader) closeMisspelt(at fieldPath, object map[string]any, problems []finding) bool {
	told := slices.ContainsFunc(problems, func(p finding) bool { return p.Code == schema.NotServed }) // closeUnserved
	if told || d.meantToClose(at, object) == nil {
		return false
	}
	d.closeByWords(at, object, &Invalid{Lost: true}, causeOf(problems))
	return true
}

// allAre reports whether there are words, and the function is returns true for all of them.
func allAre(words []string, is func(string) bool) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !is(word) })
}

// topValues returns the values of a key, kind or apiVersion, in the lines of a text that begin with it.
func topValues(text []byte, key string) (values []string) {
	for _, line := range topLine.FindAllSubmatch(text, -1) {
		if string(line[1]) == key {
			values = append(values, string(line[2]))
		}
	}
	return values
}

// has reports whether a word is among the words of the text.
func (w *wording) has(word string) bool {
	_, found := slices.BinarySearch(w.all, word)
	return found
}

// isNearly reports whether a word differs from a name in at most maxMisspelt letters.
func isNearly(word, name string) bool {
	return manifest.Distance(strings.ToLower(word), strings.ToLower(name)) <= maxMisspelt
}

// wordsIn returns the words of a text, sorted, each once: maximal runs of letters, digits, "-" and ".". A run with
// "_", which values of labels may have, is a word, too, beside its parts. Words that are too long for a name are left out.
func wordsIn(text []byte) (words []string) {
	add := func(word string) {
		if word = strings.Trim(word, "-."); word != "" && len(word) <= validation.DNS1123SubdomainMaxLength {
			words = append(words, word)
		}
	}
	for rest := string(text); rest != ""; {
		end := strings.IndexFunc(rest, notInWord)
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = strings.TrimLeftFunc(rest[end:], notInWord)
		add(word)
		if strings.Contains(word, "_") {
			for part := range strings.SplitSeq(word, "_") {
				add(part)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// notInWord reports whether a character is part of no word.
func notInWord(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
}
