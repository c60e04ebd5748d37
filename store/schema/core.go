package schema

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/netip"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// The kinds of Kubernetes itself have no CRD, and their Go type is the schema. The functions of this file add
// the checks and defaults of the API server that matter to gatefold.

// coreChecker returns the checker whose schema is the Go type T.
func coreChecker[T any]() *checker {
	return &checker{root: fromType(reflect.TypeFor[T]())}
}

// namespaceChecker returns the checker of Namespaces. It also checks the annotations that tenancy.Read knows. A
// Namespace with a mistake in them is invalid, so that its last valid version stays in use.
func namespaceChecker() *checker {
	c := coreChecker[corev1.Namespace]()
	c.more = func(m *mistakes, object map[string]any) {
		metadata, _ := object["metadata"].(map[string]any)
		written := map[string]string{}
		for name, value := range entries(metadata, "annotations") {
			written[name], _ = value.(string)
		}
		_, faults := tenancy.Read(written)
		for _, fault := range faults {
			m.addAt(InvalidValue, "metadata.annotations["+fault.Annotation+"]", fault.Message, "")
		}
	}
	return c
}

// configMapChecker returns the checker of ConfigMaps. It also checks the CA certificates in ca.crt.
func configMapChecker() *checker {
	c := coreChecker[corev1.ConfigMap]()
	c.root.at("data").keys = worded(validation.IsConfigMapKey)
	c.root.at("binaryData").keys = worded(validation.IsConfigMapKey)
	c.more = func(m *mistakes, object map[string]any) {
		data, binary := entries(object, "data"), entries(object, "binaryData")
		for key := range binary {
			if _, both := data[key]; both {
				m.addAt(DuplicateEntry, "binaryData["+key+"]", "the key is in data too", "remove one of the two")
			}
		}
		text, _ := data[string(keypair.Authorities)].(string)
		authorityRules(m, "data", []byte(text))
	}
	return c
}

// authorityRules reports CA certificates that cannot be read. The parameter text is the value of ca.crt, and
// field is the field that contains ca.crt, such as data. An empty text is not a mistake.
func authorityRules(m *mistakes, field string, text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if _, fault := keypair.ReadBundle(text); fault != nil {
		m.addAt(InvalidValue, field+"["+string(fault.Part)+"]", fault.Message, fault.Hint)
	}
}

// secretChecker returns the checker of Secrets.
func secretChecker() *checker {
	c := coreChecker[corev1.Secret]()
	c.secret = true
	c.root.setDefault("type", string(corev1.SecretTypeOpaque))
	c.root.at("data").keys = worded(validation.IsConfigMapKey)
	c.root.at("stringData").keys = worded(validation.IsConfigMapKey)
	c.more = secretRules
	return c
}

// secretRules moves stringData into data, as the API server does. It reports CA certificates that cannot be
// read. In a Secret of type kubernetes.io/tls, it also reports a missing or invalid certificate or key.
func secretRules(m *mistakes, object map[string]any) {
	plain := entries(object, "stringData")
	if len(plain) > 0 {
		data := entries(object, "data")
		if data == nil {
			data = map[string]any{}
			object["data"] = data
		}
		for key, text := range plain {
			s, _ := text.(string)
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	delete(object, "stringData")
	field := func(part keypair.Part) string {
		if _, ok := plain[string(part)]; ok {
			return "stringData"
		}
		return "data"
	}
	authorityRules(m, field(keypair.Authorities), decoded(object, keypair.Authorities))
	if object["type"] != string(corev1.SecretTypeTLS) {
		return
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if _, found := entries(object, "data")[key]; !found {
			m.addAt(RequiredField, "data["+key+"]", key+" is missing", "a Secret of type kubernetes.io/tls holds tls.crt and tls.key")
			return
		}
	}
	if _, fault := keypair.Read(decoded(object, keypair.Certificate), decoded(object, keypair.Key)); fault != nil {
		m.addAt(InvalidValue, field(fault.Part)+"["+string(fault.Part)+"]", fault.Message, fault.Hint)
	}
}

// decoded returns the decoded value of a key in the field data of a Secret. It returns nil if data does not
// have the key. The value must be valid base64.
func decoded(object map[string]any, key keypair.Part) []byte {
	text, _ := entries(object, "data")[string(key)].(string)
	content, _ := base64.StdEncoding.DecodeString(text)
	return content
}

// endpointSliceChecker returns the checker of EndpointSlices.
func endpointSliceChecker() *checker {
	c := coreChecker[discoveryv1.EndpointSlice]()
	c.root.limits.Required = []string{"addressType"}
	c.root.at("addressType").limits.Enum = enum("IPv4", "IPv6", "FQDN")
	c.root.at("endpoints").limits.MaxItems = new(int64(1000))
	c.root.at("endpoints[]").limits.Required = []string{"addresses"}
	addresses := c.root.at("endpoints[].addresses")
	addresses.limits.MinItems, addresses.limits.MaxItems = new(int64(1)), new(int64(100))
	c.root.at("ports").limits.MaxItems = new(int64(20000))
	port := c.root.at("ports[]")
	port.setDefault("protocol", "TCP")
	port.setDefault("name", "")
	port.at("protocol").limits.Enum = enum("TCP", "UDP", "SCTP")
	portRange(port.at("port"))
	ports := c.root.at("ports")
	ports.listType, ports.listKeys = "map", []string{"name"}
	c.more = endpointAddresses
	return c
}

// endpointAddresses reports addresses that do not have the addressType of the EndpointSlice. Unlike the API
// server it accepts loopback addresses, which are useful on one machine, and names with _ (manifest.IsEndpointName).
func endpointAddresses(m *mistakes, object map[string]any) {
	kind, _ := object["addressType"].(string)
	endpoints, _ := object["endpoints"].([]any)
	for i, endpoint := range endpoints {
		e, _ := endpoint.(map[string]any)
		addresses, _ := e["addresses"].([]any)
		for j, address := range addresses {
			text, _ := address.(string)
			if !isAddress(text, kind) {
				m.addAt(InvalidValue, fmt.Sprintf("endpoints[%d].addresses[%d]", i, j),
					fmt.Sprintf("%s is not an address of the type %s", shown(text), kind), addressHint(text))
			}
		}
	}
}

// isAddress reports whether a text is an address of the given addressType (the parameter kind: IPv4, IPv6 or
// FQDN).
func isAddress(text, kind string) bool {
	if kind == string(discoveryv1.AddressTypeFQDN) {
		return manifest.IsEndpointName(text)
	}
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Zone() == "" && ip.Is4() == (kind == string(discoveryv1.AddressTypeIPv4))
}

// addressHint returns a hint with the addressType that an address has. It returns "" if the text is no address.
func addressHint(text string) string {
	for _, kind := range []string{"IPv4", "IPv6", "FQDN"} {
		if isAddress(text, kind) {
			return "it fits addressType: " + kind
		}
	}
	return ""
}

// entries returns the map in a field of an object. It returns nil if the field is missing or is not a map.
func entries(object map[string]any, name string) map[string]any {
	m, _ := object[name].(map[string]any)
	return m
}

func enum(values ...string) []structural.JSON {
	all := make([]structural.JSON, len(values))
	for i, value := range values {
		all[i].Object = value
	}
	return all
}

func portRange(n *node) {
	n.limits.Minimum, n.limits.Maximum = new(1.0), new(65535.0)
}
