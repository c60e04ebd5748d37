package listen

import (
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Authority is the result of resolving a reference to CA certificates.
type Authority struct {
	// Object is a ConfigMap or a Secret with ca.crt.
	Object manifest.Key
	// Usable is zero if the CA certificates can be used. Otherwise it is the reason why not, and Hint is what to
	// do.
	Usable manifest.Verdict[gwv1.ListenerConditionReason]
	Hint   string
}

// trustFile ends the name of each object in the result of TrustName. It distinguishes the ca.crt of a Secret
// from the certificate of the Secret.
const trustFile = "/ca.crt"

// SystemTrust is the xDS name of the CA certificates of the system on which Envoy runs.
const SystemTrust = "system" + trustFile

// TrustName returns the xDS name of a bundle with the CA certificates of one or more objects. TrustedBy is its
// inverse.
func TrustName(objects []manifest.Key) string {
	names := make([]string, len(objects))
	for i, key := range objects {
		names[i] = key.Kind + "/" + key.Namespace + "/" + key.Name + trustFile
	}
	return strings.Join(names, "+")
}

// TrustedBy returns the objects whose CA certificates are in a bundle. name is the result of TrustName. It must
// not be SystemTrust, which has no objects.
func TrustedBy(name string) []manifest.Key {
	var out []manifest.Key
	for object := range strings.SplitSeq(name, "+") {
		parts := strings.SplitN(strings.TrimSuffix(object, trustFile), "/", 3)
		out = append(out, manifest.Key{Kind: parts[0], Namespace: parts[1], Name: parts[2]})
	}
	return out
}
