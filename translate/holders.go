package translate

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// Thing is something that only one object can have, or only objects of one kind: a host of a listener. It is also the
// name of an identity header (ir.Identity) that a GatewayExtension wrote before its object was removed. Fields that
// a thing does not need are zero.
type Thing struct {
	Gateway  string `json:"gateway,omitempty"`  // "namespace/name"
	Listener string `json:"listener,omitempty"` // the ID of the listener
	Host     string `json:"host,omitempty"`     // as listen.Place.Domain
	Address  string `json:"address,omitempty"`  // an IP address
	Port     int32  `json:"port,omitempty"`
	UDP      bool   `json:"udp,omitempty"`

	Extension string `json:"extension,omitempty"` // "namespace/name"
	Header    string `json:"header,omitempty"`    // in lower case
}

func compareThings(a, b Thing) int {
	udp := func(t Thing) int {
		if t.UDP {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Listener, b.Listener), cmp.Compare(a.Host, b.Host),
		cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(udp(a), udp(b)),
		cmp.Compare(a.Extension, b.Extension), cmp.Compare(a.Header, b.Header),
	)
}

// Holders has, for each Thing that several objects want, the object that has it. If several objects have it, it is the
// first of them. A header is held by the GatewayExtension that wrote it, as long as a policy names the extension. Holders are an input of a Translator at a start: of two objects that are otherwise equal, the one
// that had the thing keeps it (docs/design/gateways.md#httproutes-and-grpcroutes-of-one-listener-are-decided-together). A Holders is immutable.
type Holders map[Thing]manifest.Key

// holding is an entry of Holders.
type holding struct {
	Thing  Thing        `json:"thing"`
	Holder manifest.Key `json:"holder"`
}

func compareHoldings(a, b holding) int { return compareThings(a.Thing, b.Thing) }

// MarshalJSON writes the entries as a list, sorted by Thing.
func (h Holders) MarshalJSON() ([]byte, error) {
	list := make([]holding, 0, len(h))
	for thing, holder := range h {
		list = append(list, holding{thing, holder})
	}
	slices.SortFunc(list, compareHoldings)
	return json.Marshal(list)
}

// UnmarshalJSON reads the list that MarshalJSON writes.
func (h *Holders) UnmarshalJSON(text []byte) error {
	var list []holding
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*h = make(Holders, len(list))
	for _, one := range list {
		(*h)[one.Thing] = one.Holder
	}
	return nil
}

// holdersInput has the Holders that Translator.Hold set. After the next Apply it is empty, because the recalls then
// know the incumbents.
type holdersInput struct {
	*memo.Input[Thing, manifest.Key]
	// headers has the names of the headers that a GatewayExtension holds.
	headers *memo.Input[manifest.Key, []string]
	present Holders
}

func newHoldersInput(e *memo.Engine) *holdersInput {
	return &holdersInput{
		Input: memo.NewInput[Thing](e, "hadsaved", identical[manifest.Key]), headers: memo.NewInput[manifest.Key](e, "hadheaders", slices.Equal[[]string]),
	}
}

// replace sets the Holders, and removes all others.
func (in *holdersInput) replace(set Holders) {
	replace(in.Input, in.present, set)
	replace(in.headers, in.present.headers(), set.headers())
	in.present = set
}

// headers returns the names of the headers that each GatewayExtension holds, sorted.
func (h Holders) headers() map[manifest.Key][]string {
	all := map[manifest.Key][]string{}
	for thing, holder := range h {
		if thing.Header != "" {
			all[holder] = append(all[holder], thing.Header)
		}
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

// has reports whether an object has a thing by the Holders.
func (in *holdersInput) has(c *memo.Ctx, thing Thing, object manifest.Key) bool {
	holder, held := in.Get(c, thing)
	return held && holder == object
}

// holdingFold is the fold that collects the Holders of the whole translation.
type holdingFold = memo.Fold[struct{}, Thing, holding, ordered.Set[holding]]

// holder is a part of the network that gives things to objects.
type holder interface {
	// hold adds the things that several objects want, with the object that has each, to the fold all.
	hold(all *holdingFold)
}

// newHoldings declares the fold of all Holders and lets each of the given parts add to it.
func newHoldings(e *memo.Engine, parts ...holder) *holdingFold {
	all := memo.NewFold[struct{}, Thing, holding](e, "holdings", gather[Thing](compareHoldings), ordered.Set[holding].Same)
	for _, part := range parts {
		part.hold(all)
	}
	return all
}

// holdingsFrom adds the Holders in the values of a rule or fold (the parameter source) to the fold f.
func holdingsFrom[K comparable, V any](f *holdingFold, source memo.Keyed[K, V], list func(K, V) Holders) {
	memo.From(f, source, func(key K, value V, yield func(memo.Place[struct{}, Thing], holding)) {
		for thing, holder := range list(key, value) {
			yield(memo.Place[struct{}, Thing]{ID: thing}, holding{thing, holder})
		}
	}, identical)
}

// setHoldings stores who has each thing that several objects want. It is called when that has changed.
func (l *lastView) setHoldings(_ struct{}, all ordered.Set[holding]) {
	holders := make(Holders, all.Len())
	for one := range all.All() {
		holders[one.Thing] = one.Holder
	}
	if !maps.Equal(holders, l.holders) {
		l.holders = holders
	}
}
