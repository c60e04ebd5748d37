package plan

import "testing"

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
