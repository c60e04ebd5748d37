package tenancy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ports are the numbers of TCP and UDP ports.
type Ports []PortRange

// PortRange is the ports from First to Last, both included.
type PortRange struct{ First, Last int32 }

// ParsePorts parses ports and ranges that are separated by commas, spaces or line breaks, such as "8443,
// 9000-9100". The error says which entry is invalid, and what to write.
func ParsePorts(text string) (Ports, error) {
	list, err := entries(text, `ports, such as "8443, 9000-9100"`)
	if err != nil {
		return nil, err
	}
	var ports Ports
	for _, entry := range list {
		ports = append(ports, PortRange{})
		if err := ports[len(ports)-1].parse(entry); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

func (r *PortRange) parse(entry string) error {
	first, last, isRange := strings.Cut(entry, "-")
	if !isRange {
		last = first
	}
	from, okFrom := portOf(first)
	to, okTo := portOf(last)
	switch {
	case !okFrom || !okTo:
		return fmt.Errorf("%q is not a port: write numbers from 1 to 65535 and ranges, such as \"8443, 9000-9100\"", entry)
	case from > to:
		return fmt.Errorf("%q ends before it begins: write %d-%d", entry, to, from)
	}
	*r = PortRange{from, to}
	return nil
}

func portOf(text string) (port int32, ok bool) {
	number, err := strconv.ParseUint(text, 10, 16)
	return int32(number), err == nil && number > 0
}

// Has reports whether a port is in one of the ranges.
func (p Ports) Has(port int32) bool {
	return slices.ContainsFunc(p, func(r PortRange) bool { return r.First <= port && port <= r.Last })
}

// String returns the ports in a form that ParsePorts can read.
func (p Ports) String() string {
	var all []string
	for _, r := range p {
		text := strconv.Itoa(int(r.First))
		if r.Last != r.First {
			text += "-" + strconv.Itoa(int(r.Last))
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
