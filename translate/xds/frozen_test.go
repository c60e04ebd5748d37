package xds

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// table is a RouteConfiguration of hosts such as "a.example=1": the second part is the content.
func table(hosts ...string) *Resource {
	var all []Host
	for _, host := range hosts {
		name, content, _ := strings.Cut(host, "=")
		all = append(all, HostOf(append(wrap(virtualHostName, []byte(name)), wrap(virtualHostRoutes, text(routeNameField, content))...)))
	}
	r := RouteConfiguration("table", all)
	return &r
}

// contents is the inverse of table, sorted.
func contents(body []byte) (out []string) {
	for name, host := range hostBodiesOf(body) {
		out = append(out, name+"="+nameOf(readHost(host).routes[0]))
	}
	slices.Sort(out)
	return out
}

// A host that is frozen is as it was, and with it what else a request could get in part.
func TestFrozenHosts(t *testing.T) {
	for _, one := range []struct{ name, before, after, frozen, want string }{
		{"an edit of another host", "a.x=1 b.x=1", "a.x=2 b.x=2", "a.x", "a.x=1 b.x=2"},
		{"a new host", "b.x=1", "a.x=2 b.x=2", "a.x", "b.x=2"},
		{"a new host below a wildcard", "*.x=1 b.x=1", "*.x=2 a.x=2 b.x=2", "a.x", "*.x=1 b.x=2"},
		{"a new host below two of them", "*=1 *.x=1", "*=2 *.x=2 a.x=2", "a.x", "*.x=1 *=2"},
		{"a new wildcard between", "*=1", "*=2 *.x=2 a.x=2 y=2", "a.x", "*=1 y=2"},
		{"a removed host below a frozen wildcard", "*.x=1 a.x=1 b.x=1", "*.x=2 b.x=2", "*.x", "*.x=1 a.x=1 b.x=2"},
		{"a removed host below another", "*.x=1 a.x=1 b.x=1", "*.x=2 b.x=2", "b.x", "*.x=2 b.x=1"},
		{"a removed wildcard above a new host", "*.x=1 b.y=1", "a.x=2 b.y=2", "a.x", "*.x=1 b.y=2"},
		{"a wildcard below a wildcard", "*.x=1", "*.x=2 *.b.x=2", "*.b.x", "*.x=1"},
		{"no table before", "", "a.x=2 *=2 b.y=2", "a.x", "b.y=2"},
	} {
		t.Run(one.name, func(t *testing.T) {
			got, differs := Frozen(table(strings.Fields(one.after)...), table(strings.Fields(one.before)...).Body, map[string]bool{one.frozen: true})
			if all := strings.Join(contents(got.Body), " "); all != one.want || differs != (one.want != one.before) {
				t.Errorf("got %q, differs %t, want %q", all, differs, one.want)
			}
		})
	}
}

// Whatever is frozen, every domain and every name below it gets one of the two answers.
func TestFrozenHostsMixNothing(t *testing.T) {
	names := []string{"*", "*.x", "a.x", "*.a.x", "b.a.x", "y"}
	const all = 1 << 6
	take := func(set int, version string) (out []string) {
		for i, name := range names {
			if set>>i&1 == 1 {
				out = append(out, name+"="+version)
			}
		}
		return out
	}
	answer := func(hosts hostBodies, name string) string {
		at := name
		if _, is := hosts[at]; !is {
			at = cover(name, hosts)
		}
		return at + string(hosts[at])
	}
	for before := range all {
		for after := range all {
			old, now := table(take(before, "1")...), table(take(after, "2")...)
			for i, name := range names {
				if after>>i&1 == 0 {
					continue
				}
				got, _ := Frozen(now, old.Body, map[string]bool{name: true})
				was, is, made := hostBodiesOf(old.Body), hostBodiesOf(now.Body), hostBodiesOf(got.Body)
				if body, there := made[name]; there && string(body) != string(was[name]) {
					t.Fatalf("%s of %v is not frozen in %v", name, slices.Sorted(maps.Keys(is)), slices.Sorted(maps.Keys(made)))
				}
				for _, request := range append(names[1:], "c.x", "c.a.x", "z") {
					if a := answer(made, request); a != answer(was, request) && a != answer(is, request) {
						t.Fatalf("from %v to %v with %s frozen, %s gets %q", contents(old.Body), contents(now.Body), name, request, a)
					}
				}
			}
		}
	}
}
