package xds

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// CheckUpstream returns what Envoy would reject in a policy for backends. The problems name fields of the
// policy. A gRPC health check needs a backend with HTTP/2, which package backend checks.
func CheckUpstream(policy manifest.Key, upstream *ir.Upstream) []manifest.Problem {
	c := checker{rule: &ir.Rule{Source: &ir.Origin{Key: policy}}}
	if check := upstream.HealthCheck; check != nil && check.HTTP != nil {
		path := check.HTTP.Path
		if !strings.HasPrefix(path, "/") {
			c.reject("spec.healthCheck.http.path", fmt.Sprintf("path %q does not begin with a slash", manifest.Shorten(path)), `write "/" in front`)
		}
		c.checkWord("spec.healthCheck.http.path", path)
		c.checkWord("spec.healthCheck.http.host", check.HTTP.Host)
	}
	if check := upstream.HealthCheck; check != nil && check.GRPC != nil {
		c.checkWord("spec.healthCheck.grpc.authority", check.GRPC.Authority)
		c.checkWord("spec.healthCheck.grpc.serviceName", check.GRPC.Service)
	}
	if balancer := upstream.Balancer; balancer != nil {
		c.hashes("spec.loadBalancer."+hashingField(balancer.Kind)+".hashPolicies", balancer.Hash)
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	message := clusterMessage(&ir.Cluster{Name: "checked", Discovery: ir.Static, HTTP2: true, Upstream: upstream})
	if err := message.ValidateAll(); err != nil {
		c.reject("spec", "Envoy does not accept this policy: "+strings.ReplaceAll(err.Error(), "\n", "; "), "change the named value")
	}
	return c.problems
}

// hashingField returns the name of the field of loadBalancer for a load balancer with hash policies.
func hashingField(kind ir.BalancerKind) string {
	if kind == ir.Maglev {
		return "maglev"
	}
	return "ringHash"
}

// checkWord rejects characters that would break a request line or a header. Envoy sends the texts of a health
// check unchanged.
func (c *checker) checkWord(field, text string) {
	if strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		c.reject(field, fmt.Sprintf("%q contains a space or a character that is not ASCII", manifest.Shorten(text)), "escape it, as a URL does")
	}
}
