package delta

import (
	"fmt"

	"github.com/gatefold/gatefold/translate/xds"
)

// An older Envoy gets listeners without the HTTP filters that it does not support. Parts of route tables that
// need such a filter answer 500. Otherwise Envoy would ignore the configuration of the missing filter. Each
// form is made once for a release, and kept with the resource.

// formFor returns the form (variant) of a listener or route table for Envoys of one release. A listener's form lacks
// the HTTP filters that the release does not have. A route table's form lacks the optional features that the release
// does not have. If nothing has to be left out, formFor returns e. formFor does not change routes that need another
// missing feature: Entry.lacks lists these routes, and tables.lacking makes them answer 500.
func (e *Entry) formFor(of xds.Release) *Entry {
	e.forms.mu.Lock()
	defer e.forms.mu.Unlock()
	if made := e.forms.older[of]; made != nil {
		return made
	}
	form := xds.ListenerFor
	if e.Type == xds.RouteType {
		form = xds.TableFor
	}
	made := e
	if r, same := form(e.Resource, of); !same {
		made = NewEntry(&r)
		made.of = e
	}
	if e.forms.older == nil {
		e.forms.older = map[xds.Release]*Entry{}
	}
	e.forms.older[of] = made
	return made
}

// lacks returns the parts of a route table (such as routes) that an Envoy of the release does not support, each
// with the missing feature.
func (e *Entry) lacks(of xds.Release) []xds.Lack {
	e.forms.mu.Lock()
	defer e.forms.mu.Unlock()
	made, known := e.forms.lacks[of]
	if !known {
		made = xds.Lacks(e.Body, of)
		if e.forms.lacks == nil {
			e.forms.lacks = map[xds.Release][]xds.Lack{}
		}
		e.forms.lacks[of] = made
	}
	return made
}

// lacking returns, as RejectedParts, the parts of a route table that this Envoy is too old for. It leaves out
// parts that are recorded already. The parameter target is the table that Envoy is to get, and form is the form of
// this table for Envoy's release (target.formFor). lacking returns nil if Envoy's release has all features.
func (ts *tables) lacking(name string, target, form *Entry) (parts []*RejectedPart) {
	if !ts.older {
		return nil
	}
	t, published := ts.states[name], map[xds.Part]xds.Lack{}
	for _, lack := range target.lacks(ts.release) {
		published[lack.Part] = lack
	}
	for _, lack := range form.lacks(ts.release) {
		if known := t.rejected[lack.Part]; known != nil && known.Lack != nil && known.Sum == lack.Sum {
			continue
		}
		of := published[lack.Part]
		parts = append(parts, &RejectedPart{
			Table: name, Part: lack.Part, Fault: lack.Fault, in: t, Lack: &of, quarantined: true,
			Words: fmt.Sprintf("%s needs Envoy %s", lack.What, lack.Since),
		})
	}
	return parts
}
