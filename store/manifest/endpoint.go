package manifest

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"
)

var endpointName = regexp.MustCompile(`^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$`)

// IsEndpointName reports whether a text is a DNS name at which an endpoint may be, in lower case. Unlike the names of
// Kubernetes it may have the character _: container engines give it to names of services and containers, and their DNS
// servers resolve it. Hostnames of listeners and routes may not have it (see the Gateway API's type Hostname).
func IsEndpointName(text string) bool {
	return len(text) <= validation.DNS1123SubdomainMaxLength && endpointName.MatchString(text)
}
