package listen

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// contender returns a route without namespace, whose age in seconds is also its name.
func contender(kind string, age int, claims ...HostClaim) *Contender {
	key := manifest.Key{Kind: kind, Name: fmt.Sprint(kind, age)}
	return &Contender{Origin: &ir.Origin{Key: key, Created: time.Unix(int64(age), 0)}, Claims: claims}
}

// written are requests for hosts by routes that have these hostnames.
func written(domains ...string) (claims []HostClaim) {
	for _, domain := range domains {
		claims = append(claims, HostClaim{Domain: domain, Own: route.Specific(hostname(domain))})
	}
	return claims
}

// nobody had a host before.
func nobody() *Incumbents {
	return &Incumbents{Saved: func(manifest.Key, string) bool { return false }}
}

// lostBy returns which domains a route lost.
func lostBy(o *Outcome, c *Contender) (domains []string) {
	for _, claim := range c.Claims {
		if _, lost := o.Loses(c.Origin.Key, claim.Domain); lost {
			domains = append(domains, claim.Domain)
		}
	}
	return domains
}

// A route loses the hosts that the other kind has, and no other.
func TestContestIsForEachHost(t *testing.T) {
	h1, g2 := contender("HTTPRoute", 1, written("a.com")...), contender("GRPCRoute", 2, written("a.com", "b.com")...)
	h3, g4 := contender("HTTPRoute", 3, written("b.com")...), contender("GRPCRoute", 4, written("*")...)
	o := Contest([]*Contender{h1, g2, h3, g4}, nobody())
	for c, want := range map[*Contender][]string{h1: nil, g2: {"a.com"}, h3: {"b.com"}, g4: nil} {
		if got := lostBy(o, c); !slices.Equal(got, want) {
			t.Errorf("%s lost %v, want %v", c.Origin.Key, got, want)
		}
	}
	if want := []string{"a.com", "b.com"}; !slices.Equal(o.Both, want) {
		t.Errorf("both kinds request %v, want %v", o.Both, want)
	}
}

// Each criterion decides before the next one, and the winners as incumbents win again.
func TestContestFollowsTheOrderOfRanks(t *testing.T) {
	old, late := contender("HTTPRoute", 1), contender("GRPCRoute", 2)
	claim := func(own uint16, granted bool) []HostClaim {
		return []HostClaim{{Domain: "a.com", Own: own, Granted: granted}}
	}
	had := func(c *Contender) *Incumbents {
		return &Incumbents{Saved: func(key manifest.Key, _ string) bool { return key == c.Origin.Key }}
	}
	for _, test := range []struct {
		name      string
		old, late []HostClaim
		had       *Incumbents
		want      *Contender
	}{
		{"own hostname", claim(1, true), claim(2, false), had(old), late},
		{"annotation", claim(1, false), claim(1, true), had(old), late},
		{"incumbent", claim(1, false), claim(1, false), had(late), late},
		{"two annotated", claim(1, true), claim(1, true), had(late), late},
		{"age", claim(1, false), claim(1, false), nobody(), old},
	} {
		old.Claims, late.Claims = test.old, test.late
		all := []*Contender{old, late}
		o := Contest(all, test.had)
		if o.Holders["a.com"] != test.want.Origin.Key {
			t.Errorf("%s: %v has the host", test.name, o.Holders["a.com"])
		}
		before := map[manifest.Key]*Contender{old.Origin.Key: old, late.Origin.Key: late}
		again := Contest(all, &Incumbents{Before: before, Given: o, Saved: nobody().Saved})
		if !reflect.DeepEqual(o, again) {
			t.Errorf("%s: not idempotent: %+v, then %+v", test.name, o, again)
		}
	}
}

// A route of the platform team comes before the incumbent with an annotation.
func TestThePlatformComesFirst(t *testing.T) {
	team, platform := contender("HTTPRoute", 1, HostClaim{"a.com", 1, true}), contender("GRPCRoute", 2, HostClaim{"a.com", 1, false})
	team.Origin.Outside = true
	o := Contest([]*Contender{platform, team}, &Incumbents{Saved: func(key manifest.Key, _ string) bool { return key == team.Origin.Key }})
	if o.Holders["a.com"] != platform.Origin.Key {
		t.Errorf("%v has the host", o.Holders["a.com"])
	}
}

// What a route meets without losing it is bounded, so that no team can fill the list of another one.
func TestMeetingsAreBounded(t *testing.T) {
	var all []*Contender
	for i := range 40 {
		wide, narrow := contender("HTTPRoute", i, written("*.com")...), contender("GRPCRoute", i, written(fmt.Sprintf("h%d.com", i), "x.com")...)
		wide.Origin.Key.Namespace, narrow.Origin.Key.Namespace = fmt.Sprint("w", i), fmt.Sprint("n", i)
		all = append(all, wide, narrow)
	}
	owner := contender("HTTPRoute", 0, written("x.com")...)
	o := Contest(append([]*Contender{owner}, all...), nobody())
	for key, met := range o.Met {
		count := map[MeetingResult]int{}
		for _, m := range met {
			if count[m.Result]++; count[m.Result] > maxMet {
				t.Errorf("%s has %d meetings of result %d", key, count[m.Result], m.Result)
			}
		}
		if key != owner.Origin.Key && len(met) == 0 {
			t.Errorf("%s is told nothing", key)
		}
	}
}
