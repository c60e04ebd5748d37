package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// maxPlaces is, for each side, the largest number of fields whose places are looked up. Each lookup parses a
// document again.
const maxPlaces = 2000

// locate writes places to the report: the file and line of each object and field that the report names. It looks up
// at most maxPlaces of them in the old configuration, and at most maxPlaces in the new configuration. The rest get no
// place.
func (c *comparison) locate() {
	var sources [2][]*explain.Source
	add := func(source *explain.Source, before bool) {
		side := 1
		if before {
			side = 0
		}
		if len(sources[side]) < maxPlaces {
			sources[side] = append(sources[side], source)
		}
	}
	for _, list := range [][]Change{c.report.Requests, c.report.Handling} {
		for i := range list {
			for j := range list[i].Regions {
				list[i].Regions[j].sources(add)
			}
			for j := range list[i].Reasons {
				at := list[i].Reasons[j].At
				for k := range at {
					add(&at[k].Source, at[k].Before)
				}
			}
		}
	}
	for i := range c.report.Undecided {
		c.report.Undecided[i].sources(add)
	}
	objects := make([]explain.Source, len(c.report.Objects))
	for i, o := range c.report.Objects {
		objects[i].Object = o.Object
		if o.Kind == Invalid {
			p := c.objects.mistakes[o.Object]
			objects[i].Place = store.Place{File: p.File, Line: p.Line, Column: p.Column}
		} else {
			add(&objects[i], o.Kind == Removed)
		}
	}
	for side, s := range c.sides {
		if s.Places == nil {
			continue
		}
		fields := make([]manifest.Field, len(sources[side]))
		for i, source := range sources[side] {
			fields[i] = manifest.Field{Object: source.Object, Path: source.Field}
		}
		for i, place := range s.Places(fields) {
			sources[side][i].Place = place
		}
	}
	for i := range objects {
		if objects[i].Place != (store.Place{}) {
			c.report.Objects[i].At = &objects[i].Place
		}
	}
}

// sources calls the function add with the source of r.Before, and with the source of r.After. A nil r.Before or
// r.After is skipped. The second argument of add is true for r.Before, and false for r.After.
func (r *Region) sources(add func(source *explain.Source, before bool)) {
	if r.Before != nil {
		add(&r.Before.At, true)
	}
	if r.After != nil {
		add(&r.After.At, false)
	}
}

// summarize sets Summary and Changes.
func (r *Report) summarize() {
	var words []string
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			words = append(words, "1 "+one)
		case n > 1:
			words = append(words, fmt.Sprintf("%d %s", n, many))
		}
	}
	kinds := func(list []Change, one, many string) {
		n, regions, listeners := kindsOf(list)
		on := ""
		if regions > n {
			on = fmt.Sprintf(" on %d listeners", listeners)
		}
		say(n, one+on, many+on)
		held, _, _ := kindsOf(slices.DeleteFunc(slices.Clone(list), func(c Change) bool { return len(c.Held) == 0 }))
		say(held, "of them is held on a running gatefold until an error is fixed", "of them are held on a running gatefold until errors are fixed")
	}
	kinds(r.Requests, "kind of request gets another answer", "kinds of requests get another answer")
	kinds(r.Handling, "kind of request is handled otherwise", "kinds of requests are handled otherwise")
	say(len(r.Held), "edit is not applied", "edits are not applied")
	say(len(r.Undecided), "rule may change requests", "rules may change requests")
	policies := map[Kind]int{}
	for _, p := range r.Policies {
		policies[p.Kind]++
	}
	say(policies[Removed], "policy field lost", "policy fields lost")
	say(policies[Closed], "policy field closed with an error", "policy fields closed with an error")
	say(policies[Added], "policy field gained", "policy fields gained")
	say(len(r.Introduced), "problem introduced", "problems introduced")
	say(len(r.Fixed), "problem fixed", "problems fixed")
	drains := 0
	for _, l := range r.Listeners {
		if l.Drains {
			drains++
		}
	}
	say(drains, "listener drains connections", "listeners drain connections")
	say(len(r.Certificates), "certificate differs", "certificates differ")
	if len(words) == 0 {
		words = []string{"no request changes"}
	}
	resources := 0
	for _, one := range r.Resources {
		resources += one.Added + one.Removed + one.Changed
	}
	say(len(r.Objects), "object touched", "objects touched")
	say(resources, "Envoy resource touched", "Envoy resources touched")
	r.Changes = len(words) > 1 || words[0] != "no request changes"
	if !r.Changes {
		words = []string{"nothing changes"}
	}
	say(len(r.Unasked), "issuer was not asked: what its rules answer is not known", "issuers were not asked: what their rules answer is not known")
	r.Summary = strings.Join(words, ", ")
}

// kindsOf counts a list of changes for the summary. A change has Regions, which are sets of requests (see Region).
// The result kinds is the number of kinds of requests. Regions with equal host, match and rules are one kind, even if
// they are on different listeners. There is one exception: if no rule matches the regions, neither before nor after
// the change, they are one kind only if they are on the same listener. The result regions is the number of all
// regions, and listeners is the number of listeners with a region.
func kindsOf(list []Change) (kinds, regions, listeners int) {
	type listener struct {
		gateway, scheme string
		port            uint32
	}
	type kind struct{ host, match, before, after string }
	known, on := map[kind]bool{}, map[listener]bool{}
	for _, c := range list {
		regions += len(c.Regions)
		for _, r := range c.Regions {
			one := kind{r.Host, r.Match, r.Before.Envoy(), r.After.Envoy()}
			if r.Before == nil && r.After == nil { // a connection, a whole port, or hosts without rules
				one.before = fmt.Sprint(r.Gateway, r.Scheme, r.Port)
			}
			known[one], on[listener{r.Gateway, r.Scheme, r.Port}] = true, true
		}
	}
	return len(known), regions, len(on)
}
