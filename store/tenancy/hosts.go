package tenancy

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxHosts is how many hostnames an annotation may have. Each may become a virtual host of every listener to
// which a route of the namespace attaches.
const maxHosts = 64

// ParseHosts parses hostnames that are separated by commas, spaces or line breaks, such as
// "*.team-a.example.com, team-a.example.com", and returns them in lower case. A hostname is valid if the
// Gateway API allows it in listeners and routes (Hostname). ParseHosts returns an error if a hostname is
// invalid, if there is none, or if there are more than maxHosts. The error says what to write.
func ParseHosts(text string) ([]string, error) {
	list, err := entries(strings.ToLower(text), `hostnames, such as "*.team-a.example.com, team-a.example.com"`)
	if err != nil {
		return nil, err
	}
	if len(list) > maxHosts {
		return nil, fmt.Errorf("%d hostnames are more than %d: write a wildcard, such as *.team-a.example.com, in place of many", len(list), maxHosts)
	}
	for _, host := range list {
		if err := checkHost(host); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// checkHost returns an error if a hostname is invalid, or is "*".
func checkHost(host string) error {
	name, wild := strings.CutPrefix(host, "*.")
	switch {
	case host == "*":
		return fmt.Errorf("%q is every hostname: remove the annotation, or name hostnames", host)
	case isAddress(host):
		return fmt.Errorf("%q is an IP address: write hostnames, such as team-a.example.com", host)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		hint := "team-a.example.com, or *.team-a.example.com for all hosts below it"
		if wild {
			hint = "*.team-a.example.com: one * in front, and letters, digits, - and . behind it"
		}
		return fmt.Errorf("%q is not a hostname: write %s", host, hint)
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
