package store

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Text is a document that cannot be parsed, and that may define objects that gatefold serves.
type Text struct {
	// Place is "FILE:LINE", the place at which the document begins.
	Place string
	Words []string
}

// textHash identifies a Text by its content.
type textHash [sha256.Size]byte

// Texts returns the Texts that may define objects of a namespace, sorted by place. It leaves out those that were there
// already when everything else took effect (TextsStand).
func (s *Store) Texts(namespace string) (texts []Text) {
	for path, f := range s.sources.flawed {
		if !s.fence.admits(path, manifest.Key{Namespace: namespace}) {
			continue
		}
		for _, d := range f.unparsed() {
			words := Words(string(d.text))
			_, stood := s.history.texts[sha256.Sum256(d.text)]
			if !stood && isOfGatefold(string(d.text)) && (namespace == "default" || slices.Contains(words, namespace) || s.fence.policy.InForce()) {
				texts = append(texts, Text{Place: fmt.Sprintf("%s:%d", path, d.line), Words: words})
			}
		}
	}
	slices.SortFunc(texts, func(a, b Text) int { return strings.Compare(a.Place, b.Place) })
	return texts
}

// TextsStand records that all documents that cannot be parsed were there when everything else took effect, but for those at
// some places.
func (s *Store) TextsStand(except map[string]bool) {
	if !s.sources.reread && len(except) == 0 {
		return
	}
	s.sources.reread = len(except) > 0
	s.history.texts = map[textHash]struct{}{}
	for path, f := range s.sources.flawed {
		for _, d := range f.unparsed() {
			if !except[fmt.Sprintf("%s:%d", path, d.line)] {
				s.history.texts[sha256.Sum256(d.text)] = struct{}{}
			}
		}
	}
}

// unparsed returns the documents of a file that cannot be parsed.
func (f *file) unparsed() (all []*document) {
	if f == nil {
		return nil
	}
	for _, d := range f.documents {
		if d.remarks().unparsed {
			all = append(all, d)
		}
	}
	return all
}

// isOfGatefold reports whether a text has a word by which objects are known that protect, or that are protected.
func isOfGatefold(text string) bool {
	return strings.Contains(text, api.Group) || strings.Contains(text, gatewayGroup) ||
		slices.ContainsFunc(schema.ClosingKinds(), func(k schema.KindNotServed) bool { return strings.Contains(text, k.Group) })
}
