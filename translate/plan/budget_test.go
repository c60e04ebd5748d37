package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/plan"
)

// manyPatterns is a route of 128 matches on one path, each with another expression for one header.
func manyPatterns(edit string) map[string][]byte {
	var b strings.Builder
	b.WriteString(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: many}
spec:
  parentRefs: [{name: web}]
  rules:
`)
	for rule := range 16 {
		b.WriteString("  - filters: [{type: RequestRedirect, requestRedirect: {hostname: " + edit + ".example}}]\n    matches:\n")
		for match := range 8 {
			fmt.Fprintf(&b, "    - headers: [{name: X-Kind, type: RegularExpression, value: '.*%c.{8}%s%d.*'}]\n", 'a'+rule, edit, match)
		}
	}
	return map[string][]byte{"all.yaml": []byte(b.String())}
}

func TestPlanBoundsItsWork(t *testing.T) {
	before, after := side(t, manyPatterns("old")), side(t, manyPatterns("new"))
	report, err := plan.Compare(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range report.Undecided {
		if strings.Contains(one.Match, "too many combinations") && report.Changes {
			return
		}
	}
	t.Errorf("%d regions are undecided, and none says that not all was tried", len(report.Undecided))
}

func TestPlanEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before, after := side(t, manyPatterns("old")), side(t, manyPatterns("new"))
	if report, err := plan.Compare(ctx, before, after); !errors.Is(err, context.Canceled) || report != nil {
		t.Errorf("Compare returned %v, %v", report, err)
	}
}
