package server

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/board"
)

// TestARemovedListenerIsNotAnnounced wants no word of a listener that could not be bound and that the user removed:
// it is not bound now. TestHostModeReportsABusyPortOnce has the listener that is bound again.
func TestARemovedListenerIsNotAnnounced(t *testing.T) {
	var log bytes.Buffer
	a := newAnnouncements(zerolog.New(&log), board.New(func() {}), nil) // the board has no listener
	a.announce("default/eg", board.Verdict{Unbound: map[string]string{"default/eg/0.0.0.0_80": "Address already in use"}})
	a.announce("default/eg", board.Verdict{Status: metav1.ConditionTrue})
	if strings.Contains(log.String(), "bound now") || len(a.unbound["default/eg"]) > 0 {
		t.Errorf("unbound %v, log: %s", a.unbound, log.String())
	}
}
