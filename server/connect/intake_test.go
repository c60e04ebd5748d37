package connect

import (
	"testing"
	"time"
)

// However many clients say nothing, an Envoy is read of in the end, and each of them is
// counted for as long as it says nothing.
func TestNobodyWaitsForATurnForEver(t *testing.T) {
	i := NewIntake(nil)
	i.longest = time.Millisecond
	for range maxArriving {
		i.arriving <- struct{}{} // turns that do not end
	}
	i.Loaded()
	var leave []func()
	for range 3 {
		_, done, err := i.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, done)
	}
	if n := i.Waiting(); n != 3 {
		t.Errorf("%d streams wait, want 3", n)
	}
	for _, done := range leave {
		done()
	}
	if n := i.Waiting(); n != 0 {
		t.Errorf("%d streams wait that have left", n)
	}
}
