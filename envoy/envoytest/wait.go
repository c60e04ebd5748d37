package envoytest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// waitLimit is how long Wait waits: far longer than a busy machine needs, since
// no test measures time by it.
const waitLimit = 5 * time.Minute

// Wait calls condition until it returns nil. After waitLimit the test fails with the
// description and the last error. Call it from the test's goroutine.
func Wait(t testing.TB, what string, condition func() error) {
	t.Helper()
	limit := time.Now().Add(waitLimit)
	err := condition()
	for err != nil && time.Now().Before(limit) {
		select {
		case <-t.Context().Done():
			t.Fatalf("the test ended while waiting for %s: %v", what, err)
		case <-time.After(10 * time.Millisecond):
		}
		err = condition()
	}
	if err != nil {
		t.Fatalf("waited %v for %s: %v", waitLimit, what, err)
	}
}

// loopbacks counts the addresses given out by LoopbackAddress.
var loopbacks atomic.Uint32 //nolint:gochecknoglobals // all tests of a process share its addresses

// LoopbackAddress returns another address 127.x.y.z at each call, so that tests of one or
// several processes can use the same fixed ports. On Linux all of 127.0.0.0/8 is local;
// elsewhere such an address must be set up first.
func LoopbackAddress() string {
	const callBits = 9 // of the 24: 510 calls in each of 32,768 processes
	call := (loopbacks.Add(1)-1)%(1<<callBits-2) + 1
	host := uint32(os.Getpid())<<callBits | call
	return fmt.Sprintf("127.%d.%d.%d", byte(host>>16), byte(host>>8), byte(host))
}
