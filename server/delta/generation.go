package delta

import (
	"weak"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// An Envoy that was connected to an earlier version of gatefold may still have listeners with fewer HTTP
// filters: it rejected their new form, or the old listeners drain. These listeners request route tables by
// other names (ir.TableName). They get the current tables, but parts that need a missing filter answer 500.

// entry returns the resource with the given type and name in the target, or nil if there is none. The name of a route
// table depends on the gatefold version that sent the listener (see ir.TableName). If name is the table's name for
// listeners of an earlier gatefold, entry returns the current table. If it is the name for listeners of a later
// gatefold, entry returns nil.
func (s *stream) entry(typ, name string) *Entry {
	e := s.target.Entry(typ, name)
	if e != nil || typ != xds.RouteType {
		return e
	}
	base, generation := ir.SplitTableName(name)
	if generation >= ir.FilterGeneration {
		return nil // a table of a later gatefold, of which nothing is known
	}
	return s.target.Entry(typ, ir.TableName(base, ir.FilterGeneration))
}

// markEarlier is called after route tables changed; the parameter tables has their current names. The Envoy may
// still have listeners that an earlier version of gatefold sent. These listeners request the same tables by other
// names (see ir.TableName). markEarlier marks the tables with these names to be sent again, too, and returns those of
// the names to which the client subscribes.
func (l *ledger) markEarlier(tables []string) (earlier []string) {
	if len(l.unknown) == 0 {
		return nil
	}
	for _, name := range tables {
		base, _ := ir.SplitTableName(name)
		for generation := range ir.FilterGeneration {
			if other := ir.TableName(base, generation); other != name && l.wants(other) {
				l.look(other)
				earlier = append(earlier, other)
			}
		}
	}
	return earlier
}

// prepareEarlier makes the route table with the given name for listeners that an earlier gatefold sent. It stores
// the table to be sent (tableState.ready). The table is made from the current one (target), without the parts that
// this Envoy rejects or is too old for.
func (ts *tables) prepareEarlier(name string, target *Entry) {
	form, faults := target, map[xds.Part]xds.Fault{}
	if t := ts.states[target.Name]; t != nil {
		for part, rejected := range t.rejected {
			faults[part] = rejected.Fault
		}
	}
	if ts.older {
		form = target.formFor(ts.release)
		for _, lack := range form.lacks(ts.release) {
			faults[lack.Part] = lack.Fault
		}
	}
	_, generation := ir.SplitTableName(name)
	t := ts.states[name]
	t.ready, t.readyFor = form.without(faults).earlier(generation), target
}

// earlier returns the form of the route table e for listeners that an earlier gatefold sent; generation says
// which. A route that needs a filter that these listeners do not have answers 500. All streams share the form.
func (e *Entry) earlier(generation int) *Entry {
	e.forms.mu.Lock()
	defer e.forms.mu.Unlock()
	if made := e.forms.earlier[generation].Value(); made != nil {
		return made
	}
	r := xds.TableForGeneration(e.Resource, generation)
	made := NewEntry(&r)
	made.of = e
	if e.forms.earlier == nil {
		e.forms.earlier = map[int]weak.Pointer[Entry]{}
	}
	e.forms.earlier[generation] = weak.Make(made)
	return made
}
