package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
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

// textHash identifies a document that cannot be parsed by its file and its content.
type textHash struct {
	path string
	hash [sha256.Size]byte
}

// Texts returns the Texts that may define objects of a namespace, sorted by place. It leaves out those that were there
// already when everything else took effect (TextsStand).
func (s *Store) Texts(namespace string) (texts []Text) {
	for path, f := range s.sources.flawed {
		if !s.fence.admits(path, manifest.Key{Namespace: namespace}) {
			continue
		}
		for _, d := range f.unparsed() {
			words := Words(string(d.text))
			_, stood := s.history.texts[textHash{path, sha256.Sum256(d.text)}]
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
	stood := map[textHash]struct{}{}
	for path, f := range s.sources.flawed {
		for _, d := range f.unparsed() {
			if !except[fmt.Sprintf("%s:%d", path, d.line)] {
				stood[textHash{path, sha256.Sum256(d.text)}] = struct{}{}
			}
		}
	}
	s.history.textsChanged = s.history.textsChanged || !maps.Equal(stood, s.history.texts)
	s.history.texts = stood
}

// StoodTextsChanged reports whether the result of StoodTexts changed since the last call of StoodTextsChanged.
func (s *Store) StoodTextsChanged() (changed bool) {
	changed, s.history.textsChanged = s.history.textsChanged, false
	return changed
}

// StoodTexts returns the hashes of the texts that TextsStand recorded, by file, for the saved state.
func (s *Store) StoodTexts() map[string][][]byte {
	hashes := map[string][][]byte{}
	for text := range s.history.texts {
		hashes[text.path] = append(hashes[text.path], text.hash[:])
	}
	for _, all := range hashes {
		slices.SortFunc(all, bytes.Compare)
	}
	return hashes
}

// RestoreTexts does what TextsStand did before a restart. The parameter hashes is a result of StoodTexts. It is called
// after Restore, before the first Tree.
func (s *Store) RestoreTexts(hashes map[string][][]byte) {
	s.history.texts, s.sources.reread = map[textHash]struct{}{}, true
	for path, all := range hashes {
		for _, hash := range all {
			if len(hash) == sha256.Size {
				s.history.texts[textHash{path, [sha256.Size]byte(hash)}] = struct{}{}
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
