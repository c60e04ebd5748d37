package xds

import (
	"fmt"
	"testing"
)

// A table is joined from its hosts without an allocation for each.
func TestATableOfManyHostsIsJoinedInOne(t *testing.T) {
	joined := func(n int) float64 {
		var hosts []Host
		for i := range n {
			hosts = append(hosts, VirtualHost(fmt.Sprintf("%d.example.com", i), nil, nil))
		}
		return testing.AllocsPerRun(5, func() { RouteConfiguration("table", hosts) })
	}
	if few, many := joined(10), joined(1000); many > few+5 {
		t.Errorf("%.0f allocations for 10 hosts, %.0f for 1,000", few, many)
	}
}
