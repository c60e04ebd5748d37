package translate

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// Under path policies, the weights of a namespace's rules move rules of the same namespace back, and never before a
// rule of another namespace (route.Compare). A rule stands at the last standard place of the heavier rules of its
// namespace, if that comes after its own (ir.Rule.After). standings finds these places.

// standings are the rules of teams in a virtual host, in rooms. It is persistent, as ordered.Set is.
type standings struct{ rooms ordered.Set[*room] }

// roomKey is a room: a block (ir.Rule.Blocks) in a virtual host, or the whole virtual host if Block is "", and a
// namespace. Weights of a namespace count among the steps of one room.
type roomKey struct{ Block, Namespace string }

// room has the steps of a room, the heaviest first, and equally heavy ones in the standard order.
type room struct {
	roomKey
	steps ordered.Set[*standing]
}

func compareRooms(a, b *room) int {
	return cmp.Or(strings.Compare(a.Block, b.Block), strings.Compare(a.Namespace, b.Namespace))
}

// standing is a step of a room: a rule, or a block of rules.
type standing struct {
	// step has only the fields that the order depends on.
	step *ir.Rule
	// last is the step with the last standard place, of this one and of all before it in the room.
	last *ir.Rule
	// below are the entries of the step, as they are without ir.Rule.After: one for a rule, all for a block.
	below ordered.Set[*entry]
}

func compareStandings(a, b *standing) int {
	return cmp.Or(cmp.Compare(b.step.Weight, a.step.Weight), route.CompareStandard(a.step, b.step))
}

// stepAt is a step of an entry, and its room. Around is the number of blocks around the step.
type stepAt struct {
	roomKey
	around int
	step   *ir.Rule
}

// teamSteps returns the steps of an entry that have a room: the blocks around the rule, and the rule itself, if they
// are of files outside of cluster paths. The guard of a block has no room: it is the last of its block in any case.
func teamSteps(e *entry) (out []stepAt) {
	block := ""
	for i, step := range append(slices.Clip(e.Rule.Blocks), e.Rule) {
		if step.Source.Outside && !(step == e.Rule && route.EndsBlock(step)) {
			out = append(out, stepAt{roomKey{block, step.Source.Key.Namespace}, i, step})
		}
		block = step.Name
	}
	return out
}

// orderOf returns a copy of a step with only the fields that the order of rules depends on.
func orderOf(step *ir.Rule) *ir.Rule {
	return &ir.Rule{
		Name: step.Name, Match: step.Match, Weight: step.Weight, Guard: step.Guard, Preflight: step.Preflight, Root: step.Root, Source: step.Source,
		Wider: step.Wider, Chain: step.Chain, Position: step.Position, Ref: step.Ref,
	}
}

// apply returns the changes of a table whose rules have their places, and the standings after them. The parameter
// members has the changes of the rules without these places. The result also has the rules of the table that the
// changes move.
func (s standings) apply(members []memo.Member[string, *entry]) (standings, []memo.Member[string, *entry]) {
	rooms := map[roomKey]*roomEdit{}
	for _, m := range members {
		if m.Had {
			s.edit(rooms, m.Old, (*roomEdit).remove)
		}
	}
	for _, m := range members {
		if m.Has {
			s.edit(rooms, m.New, (*roomEdit).add)
		}
	}
	after, moved := s, map[*entry]bool{}
	if after.rooms.Len() == 0 {
		after.rooms = ordered.New(compareRooms)
	}
	for _, edited := range rooms {
		edited.settle(moved)
		if edited.steps.Len() == 0 {
			after.rooms = after.rooms.Delete(&edited.room)
		} else {
			settled := edited.room // a pointer into edited would keep the room before it, and so all earlier ones
			after.rooms = after.rooms.Insert(&settled)
		}
	}
	out := make([]memo.Member[string, *entry], 0, len(members)+len(moved))
	for _, m := range members {
		delete(moved, m.New)
		m.Old, m.New = s.place(m.Old), after.place(m.New)
		out = append(out, m)
	}
	for e := range moved {
		old, now := s.place(e), after.place(e)
		if !samePlace(old.Rule, now.Rule) {
			out = append(out, memo.Member[string, *entry]{ID: e.Rule.Name, Change: memo.Change[*entry]{Had: true, Has: true, Old: old, New: now}})
		}
	}
	return after, out
}

// samePlace reports whether two copies of one rule have the same places (ir.Rule.After).
func samePlace(a, b *ir.Rule) bool {
	return a.After == b.After && slices.EqualFunc(a.Blocks, b.Blocks, func(x, y *ir.Rule) bool { return x.After == y.After })
}

// edit calls change for each step of an entry. The parameter rooms has the edited rooms; edit adds those that are new
// there.
func (s standings) edit(rooms map[roomKey]*roomEdit, e *entry, change func(*roomEdit, *ir.Rule, *entry)) {
	for _, at := range teamSteps(e) {
		one := rooms[at.roomKey]
		if one == nil {
			old := s.room(at.roomKey)
			one = &roomEdit{room: *old, old: old}
			rooms[at.roomKey] = one
		}
		change(one, at.step, e)
	}
}

// room returns a room. If there is none with the key, the result is an empty room.
func (s standings) room(key roomKey) *room {
	wanted := &room{roomKey: key}
	if s.rooms.Len() > 0 {
		for found := range s.rooms.From(wanted) {
			if found.roomKey == key {
				return found
			}
			break
		}
	}
	wanted.steps = ordered.New(compareStandings)
	return wanted
}

// place returns an entry with the places that its rule and the blocks around it have (ir.Rule.After). If these are
// the standard ones, the result is e itself. The parameter may be nil.
func (s standings) place(e *entry) *entry {
	if e == nil {
		return nil
	}
	var rule *ir.Rule
	for _, at := range teamSteps(e) {
		last := s.room(at.roomKey).before(&standing{step: at.step})
		if last == nil || route.CompareStandard(last, at.step) <= 0 {
			continue
		}
		if rule == nil {
			copied := *e.Rule
			copied.Blocks, rule = slices.Clone(e.Rule.Blocks), &copied
		}
		if at.around == len(rule.Blocks) {
			rule.After = last
		} else {
			block := *rule.Blocks[at.around]
			block.After, rule.Blocks[at.around] = last, &block
		}
	}
	if rule == nil {
		return e
	}
	placed := *e
	placed.Rule = rule
	return &placed
}

// before returns the last standard place of all steps before one, nil if there are none.
func (r *room) before(one *standing) *ir.Rule {
	for earlier := range r.steps.Before(one) {
		return earlier.last
	}
	return nil
}

// find returns the step of a room that compares as 0 with the given one, nil if there is none.
func (r *room) find(one *standing) *standing {
	for found := range r.steps.From(one) {
		if compareStandings(found, one) == 0 {
			return found
		}
		break
	}
	return nil
}

// roomEdit is a room whose steps are being changed. The field old is the room before that, and changed has the steps
// that came, changed or went.
type roomEdit struct {
	room
	old     *room
	changed []*standing
}

// add adds an entry to a step.
func (r *roomEdit) add(step *ir.Rule, e *entry) {
	now := &standing{step: orderOf(step), below: ordered.New(compareEntries)}
	here := r.find(now)
	if here != nil {
		now.below = here.below
	}
	if old := cmp.Or(here, r.old.find(now)); old != nil && reflect.DeepEqual(old.step, now.step) {
		now.step, now.last = old.step, old.last // so that what did not change is the same pointer
	}
	now.below = now.below.Insert(e)
	r.steps, r.changed = r.steps.Insert(now), append(r.changed, now)
}

// remove removes an entry from a step, and the step if no entry is left.
func (r *roomEdit) remove(step *ir.Rule, e *entry) {
	old := r.find(&standing{step: step})
	if old == nil {
		return
	}
	now := *old
	if now.below = old.below.Delete(e); now.below.Len() == 0 {
		r.steps = r.steps.Delete(old)
	} else {
		r.steps = r.steps.Insert(&now)
	}
	r.changed = append(r.changed, &now)
}

// settle computes the field last of all steps that the changes concern, and adds the entries to moved whose place may
// be another one. From each changed step on, it walks until a step is as it was: the steps after it are, too.
func (r *roomEdit) settle(moved map[*entry]bool) {
	slices.SortFunc(r.changed, compareStandings)
	before := r.steps
	var reached *standing // the last step that was visited
	for _, changed := range r.changed {
		if reached != nil && compareStandings(changed, reached) <= 0 {
			continue
		}
		last := r.before(changed)
		for one := range before.From(changed) {
			reached = one
			if r.old.before(one) != last {
				for e := range one.below.All() {
					moved[e] = true
				}
			}
			if last == nil || route.CompareStandard(last, one.step) < 0 {
				last = one.step
			}
			if one.last == last {
				if compareStandings(one, changed) != 0 {
					break
				}
				continue
			}
			now := *one
			now.last = last
			r.steps = r.steps.Insert(&now)
		}
	}
}
