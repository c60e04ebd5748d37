package translate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Surroundings are the inputs of a Translator other than objects. Surroundings can be written to JSON and read
// again.
type Surroundings struct {
	Options     Options
	Quarantine  Quarantine
	Discoveries Discoveries
	Holders     Holders `json:",omitempty"`
}

// New returns a Translator with the inputs in s, and without objects.
func (s Surroundings) New() *Translator {
	t := New(s.Options)
	t.Quarantine(s.Quarantine)
	t.Discover(s.Discoveries)
	t.Hold(s.Holders)
	return t
}

// quarantined is an entry of a Quarantine.
type quarantined struct {
	Part      RejectedPart
	Rejection Rejection
}

// MarshalJSON writes the entries as a list, sorted by Route, Host, Table, Requirement and Sum.
func (q Quarantine) MarshalJSON() ([]byte, error) {
	list := make([]quarantined, 0, len(q))
	for part, rejection := range q {
		list = append(list, quarantined{part, rejection})
	}
	slices.SortFunc(list, func(a, b quarantined) int {
		return cmp.Or(
			strings.Compare(a.Part.Route, b.Part.Route), strings.Compare(a.Part.Host, b.Part.Host), strings.Compare(a.Part.Table, b.Part.Table),
			strings.Compare(a.Part.Requirement, b.Part.Requirement), bytes.Compare(a.Part.Sum[:], b.Part.Sum[:]))
	})
	return json.Marshal(list)
}

// UnmarshalJSON reads the list that MarshalJSON writes.
func (q *Quarantine) UnmarshalJSON(text []byte) error {
	var list []quarantined
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*q = make(Quarantine, len(list))
	for _, one := range list {
		(*q)[one.Part] = one.Rejection
	}
	return nil
}
