package connect

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatefold/gatefold/server/admin"
)

// Strangers cannot fill memory or log.
func TestRefusalsAreBoundedAndForgotten(t *testing.T) {
	var list Refusals
	now := time.Now()
	news := 0
	for i := range 3 * MaxRefused {
		if list.add(admin.RejectedClient{Peer: fmt.Sprint(i)}, now) {
			news++
		}
	}
	if news != MaxRefused || len(list.rows) != MaxRefused {
		t.Errorf("%d lines, %d rows; want %d", news, len(list.rows), MaxRefused)
	}
	if list.add(admin.RejectedClient{Peer: "1"}, now.Add(refusedMemory)) {
		t.Error("a row is told twice")
	}
	if !list.add(admin.RejectedClient{Peer: "2"}, now.Add(refusedMemory+time.Second)) || len(list.rows) != 2 {
		t.Errorf("%d rows remain", len(list.rows))
	}
}
