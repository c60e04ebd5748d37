package plan

import (
	"slices"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// TestDomainsReportsHostsThatAreLeftOut: a budget that is used up by changed names is reported, as one that is used
// up by the hosts of a table.
func TestDomainsReportsHostsThatAreLeftOut(t *testing.T) {
	name := serverName{"a.test", "a.test"}
	for budget, want := range map[int]bool{1: true, 0: false} {
		p, left := &portPair{changed: []string{"b.test"}}, budget
		all, whole := p.domains(name, [2]string{}, [2]bool{}, &left)
		if whole != want || all["b.test"] != want {
			t.Errorf("budget %d: b.test is tried: %t, and all are: %t", budget, all["b.test"], whole)
		}
	}
}

// TestDomainsPaysForWhatItAdds: hosts that are too many for the budget take nothing of it, and hosts that are added
// take their number.
func TestDomainsPaysForWhatItAdds(t *testing.T) {
	var hosts []ir.HostView
	for _, domain := range []string{"a.test", "b.test", "c.test"} {
		hosts = append(hosts, ir.HostView{Chain: "c", Domain: domain, Rules: func(func(*ir.Rule) bool) {}})
	}
	for budget, want := range map[int]int{2: 2, 3: 0, 5: 2} {
		p, left := &portPair{changed: []string{}, ports: [2]*ir.PortView{{Hosts: hosts}, {}}}, budget
		_, whole := p.domains(serverName{"a.test", "a.test"}, [2]string{"c"}, [2]bool{true, true}, &left)
		if left != want || whole != (budget >= len(hosts)) {
			t.Errorf("budget %d: %d are left, want %d; all are tried: %t", budget, left, want, whole)
		}
	}
}

// TestMemberOfAvoidsWildcards: of all hosts, an example is found also where a wildcard has the first one that is tried.
func TestMemberOfAvoidsWildcards(t *testing.T) {
	for pattern, taken := range map[string]map[string]bool{
		"*":         {"*.example": true, "any.example-x": true},
		"*.shop.io": {"any.shop.io": true, "*.any.shop.io": true},
	} {
		host := memberOf(pattern, among(taken))
		for way := range taken {
			if slices.Contains(ways(host), way) || !slices.Contains(ways(host), pattern) {
				t.Errorf("%s is an example of %s, beside %v", host, pattern, taken)
			}
		}
	}
}
