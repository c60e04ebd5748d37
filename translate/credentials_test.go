package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/policy"
)

// A file of users over the limit closes the policy: each of its routes would have all of them.
func TestUsersHaveALimit(t *testing.T) {
	const line = "    u%07d:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A=\n"
	for lines, want := range map[int]string{20_000: "", 30_000: policy.BadCredentials} {
		var text strings.Builder
		text.WriteString("apiVersion: v1\nkind: Secret\nmetadata: {name: people}\nstringData:\n  .htpasswd: |\n")
		for i := range lines {
			fmt.Fprintf(&text, line, i)
		}
		w := newWorld(t)
		problems := w.apply(tree(map[string]string{"people.yaml": text.String(), "policy.yaml": `
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: p}
spec: {basicAuth: {secretRef: {name: people}}}
`}))
		got := ""
		for _, problem := range problems {
			if problem.Code == policy.BadCredentials {
				got = problem.Code
			}
		}
		if got != want {
			t.Errorf("%d users: problems %v", lines, problems)
		}
	}
}
