package schema

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// serviceChecker returns the checker of Services.
func serviceChecker() *checker {
	c := coreChecker[corev1.Service]()
	c.root.limits.Required = []string{"spec"}
	spec := c.root.at("spec")
	spec.setDefault("type", string(corev1.ServiceTypeClusterIP))
	spec.at("type").limits.Enum = enum("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
	port := spec.at("ports[]")
	port.limits.Required = []string{"port"}
	port.setDefault("protocol", string(corev1.ProtocolTCP))
	port.at("protocol").limits.Enum = enum("TCP", "UDP", "SCTP")
	port.at("name").valid = func(s string) string {
		if s == "" {
			return ""
		}
		return worded(validation.IsDNS1123Label)(s)
	}
	portRange(port.at("port"))
	c.more = serviceRules
	return c
}

// serviceRules reports missing or equal ports, ports without a name if there are several, and invalid external
// names. It sets the default of targetPort.
func serviceRules(m *mistakes, object map[string]any) {
	spec := entries(object, "spec")
	ports, _ := spec["ports"].([]any)
	if spec["type"] == string(corev1.ServiceTypeExternalName) {
		externalName(m, spec)
	} else if len(ports) == 0 {
		m.addAt(RequiredField, "spec.ports", "ports is missing", "only a Service of type ExternalName has no ports")
	}
	names, numbers := map[string]int{}, map[string]int{}
	for i, item := range ports {
		port, _ := item.(map[string]any)
		at := fmt.Sprintf("spec.ports[%d]", i)
		targetPort(m, at, port)
		name, _ := port["name"].(string)
		if name == "" && len(ports) > 1 {
			m.addAt(RequiredField, at+".name", "name is missing", "each port has a name when there are several")
		}
		if name != "" {
			twice(m, names, name, at+".name", i)
		}
		twice(m, numbers, fmt.Sprintf("%v/%v", port["port"], port["protocol"]), at, i)
	}
}

// twice reports a port of a Service if an earlier port has the same id. The id is the name of the port, or the number
// and protocol of the port. The parameter i is the index of the port. The parameter at is the path of the finding.
// The parameter first is a map from each id to the index of the first port with this id. If no earlier port has the
// id, twice adds the port to the map.
func twice(m *mistakes, first map[string]int, id, at string, i int) {
	if earlier, found := first[id]; found {
		m.addAt(DuplicateEntry, at, fmt.Sprintf("%s is in spec.ports[%d] already", id, earlier), "remove one of the two, or tell them apart")
		return
	}
	first[id] = i
}

// targetPort reports an invalid targetPort of one port of a Service. If targetPort is missing, 0 or "",
// targetPort gets the number of the port as default. The parameter at is the path of the port.
func targetPort(m *mistakes, at string, port map[string]any) {
	switch target := port["targetPort"].(type) {
	case int64:
		if target == 0 {
			port["targetPort"] = port["port"]
		} else if target < 0 || target > 65535 {
			m.addAt(InvalidValue, at+".targetPort", fmt.Sprintf("targetPort %d is out of range; it must be from 1 to 65535", target), "")
		}
	case string:
		if target == "" {
			port["targetPort"] = port["port"]
		} else if len(validation.IsValidPortName(target)) > 0 {
			m.addAt(InvalidValue, at+".targetPort", "targetPort "+shown(target)+" is not a port name",
				"a port number is written without quotes")
		}
	default:
		port["targetPort"] = port["port"]
	}
}

// externalName reports a missing or invalid externalName. Unlike the API server it accepts names with _.
func externalName(m *mistakes, spec map[string]any) {
	name, _ := spec["externalName"].(string)
	const at = "spec.externalName"
	if name == "" {
		m.addAt(RequiredField, at, "externalName is missing", "a Service of type ExternalName names a host")
		return
	}
	if !manifest.IsEndpointName(strings.TrimSuffix(name, ".")) {
		m.addAt(InvalidValue, at, "externalName "+shown(name)+" is not "+hostname, "")
	}
}
