package backend

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// What is said of a missing port names the protocol that is needed, and the ports that exist.
func TestWordsOfAMissingPort(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}, {Port: 80}}}}
	for _, c := range []struct {
		reference     Reference
		message, hint string
	}{
		{Reference{Port: 53}, " has no port 53 of protocol TCP", "its ports are: 53/UDP, 80"},
		{Reference{Port: 81}, " has no port 81", "its ports are: 53/UDP, 80"},
		{Reference{Port: 80, UDP: true}, " has no port 80 of protocol UDP", "its ports are: 53/UDP, 80; protocol is TCP unless it is written"},
	} {
		got := c.reference.ToService(service)
		if want := c.reference.To.String() + c.message; got.Message != want || got.Hint != c.hint {
			t.Errorf("%+v: %q (%q), want %q (%q)", c.reference, got.Message, got.Hint, want, c.hint)
		}
	}
}
