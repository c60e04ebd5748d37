package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Checked is a validated object after pruning and defaulting, in a form that can be saved as JSON. It can be
// used again without parsing its YAML and without validation.
type Checked struct {
	object *manifest.Object
	name   place // place of the object's name in its text
	text   []byte
}

// checkedText is the JSON of a Checked.
type checkedText struct {
	Hash  string        `json:"hash"`
	Name  [3]int        `json:"name"` // line, column and width of the object's name in the text
	Value metav1.Object `json:"value"`
}

// MarshalJSON returns the JSON of the object. If c was read by UnmarshalJSON, it returns the same bytes. It
// returns an error if the object cannot be written as JSON.
func (c *Checked) MarshalJSON() ([]byte, error) {
	if c.object == nil {
		return c.text, nil
	}
	return json.Marshal(checkedText{
		hex.EncodeToString(c.object.Hash[:]), [3]int{c.name.line, c.name.column, c.name.width}, c.object.Value,
	})
}

// UnmarshalJSON keeps a copy of the bytes that MarshalJSON returned. The method read decodes them later. The
// error is always nil.
func (c *Checked) UnmarshalJSON(text []byte) error {
	c.text = bytes.Clone(text)
	return nil
}

// Len returns the size in bytes of the JSON that UnmarshalJSON read. It is 0 if c is nil.
func (c *Checked) Len() int {
	if c == nil {
		return 0
	}
	return len(c.text)
}

var errNotChecked = errors.New("it is not the object that was checked")

// read decodes the object from its JSON, and returns it as the only item of a result (the content of a
// document). It returns an error if the JSON or the hash in it is invalid, if gatefold does not read the kind
// of the parameter key, or if the object has another name or namespace than key.
func (c *Checked) read(key manifest.Key) (*result, error) {
	text, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	k := kindOf(key.GroupKind())
	if k == nil {
		return nil, errNotChecked
	}
	value := k.new()
	written := checkedText{Value: value} // Unmarshal fills in value
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, err
	}
	hash, err := hex.DecodeString(written.Hash)
	if err != nil || len(hash) != sha256.Size {
		return nil, errNotChecked
	}
	if value.GetName() != key.Name || value.GetNamespace() != key.Namespace {
		return nil, errNotChecked
	}
	o := &manifest.Object{Key: key, Hash: [sha256.Size]byte(hash), Value: value}
	name := place{written.Name[0], written.Name[1], written.Name[2]}
	return &result{items: []item{{object: o, place: name}}, plain: true}, nil
}

// plainText reports whether an object can be saved as JSON without loss: encoding its Go value and decoding the
// result gives an equal value. The parameter canonical is the JSON from which the Go value was decoded
// (kind.typed). If it has an empty list, an empty object or null, plainText returns false, because encoding/json
// may leave these out.
func plainText(canonical []byte) bool {
	return !bytes.Contains(canonical, []byte("[]")) && !bytes.Contains(canonical, []byte("{}")) &&
		!bytes.Contains(canonical, []byte("null"))
}

// isPlain reports whether the document is one valid object without problems. After a restart, gatefold can then
// read a Checked instead of the document. isPlain returns false for a Secret, for an object with duplicate
// listeners, for a creationTimestamp with nanoseconds, for an item of a list, and for an object whose document must
// not be saved. The caller must also check plainText.
func (r *result) isPlain() bool {
	return len(r.items) == 1 && r.items[0].part == nil && !r.items[0].twins && r.beside == nil && !r.broken &&
		r.items[0].object.Key.Kind != kindSecret &&
		r.items[0].object.Value.GetCreationTimestamp().Nanosecond() == 0 // JSON of metav1.Time has no nanoseconds
}
