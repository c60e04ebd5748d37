package listen

import (
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Authority is what a reference to certificates of authorities (CAs) leads to.
type Authority struct {
	// Object is a ConfigMap or a Secret with ca.crt.
	Object manifest.Key
	// Refused is zero when it can be used.
	Refused manifest.Verdict[gwv1.ListenerConditionReason]
	Hint    string
}

// trustFile ends the name of each object of a trust, so that those of a Secret are
// not taken for its own certificate.
const trustFile = "/ca.crt"

// SystemTrust names the authorities of the system that Envoy runs on.
const SystemTrust = "system" + trustFile

// TrustName names the authorities of one object, or of several together, on the wire.
func TrustName(objects []manifest.Key) string {
	names := make([]string, len(objects))
	for i, key := range objects {
		names[i] = key.Kind + "/" + key.Namespace + "/" + key.Name + trustFile
	}
	return strings.Join(names, "+")
}

// TrustedBy is the inverse of TrustName; not for SystemTrust.
func TrustedBy(name string) []manifest.Key {
	var out []manifest.Key
	for object := range strings.SplitSeq(name, "+") {
		parts := strings.SplitN(strings.TrimSuffix(object, trustFile), "/", 3)
		out = append(out, manifest.Key{Kind: parts[0], Namespace: parts[1], Name: parts[2]})
	}
	return out
}
