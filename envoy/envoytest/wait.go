package envoytest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// waitLimit is how long Wait waits. It is much longer than even a busy machine needs, because no test uses it
// to measure time.
const waitLimit = 5 * time.Minute

// Wait calls condition repeatedly until it returns nil. After waitLimit, the test fails with the last error and
// the parameter what, which describes the condition. Only the goroutine of the test may call Wait.
func Wait(t testing.TB, what string, condition func() error) {
	t.Helper()
	begin := time.Now()
	err := condition()
	for err != nil && time.Since(begin) < waitLimit {
		select {
		case <-t.Context().Done():
			t.Fatalf("the test ended while waiting for %s: %v", what, err)
		case <-time.After(Pause(time.Since(begin))):
		}
		err = condition()
	}
	if err != nil {
		t.Fatalf("waited %v for %s: %v", waitLimit, what, err)
	}
}

// Pause returns how long a test sleeps before it looks again at what it waits for. The parameter is how long the
// test has waited so far. The result is 10 ms at first, and 100 ms after 2 s, so that a long wait takes little CPU
// time.
func Pause(waited time.Duration) time.Duration {
	return min(max(waited/20, 10*time.Millisecond), 100*time.Millisecond)
}

// loopbacks is how many addresses LoopbackAddress has returned.
var loopbacks atomic.Uint32 //nolint:gochecknoglobals // all tests of a process share its addresses

// LoopbackAddress returns another address 127.x.y.z at each call, so that tests of several processes can use
// the same port numbers at the same time. After 510 calls in a process, the addresses repeat. On Linux all
// addresses of 127.0.0.0/8 are local. On other systems they must be configured first.
func LoopbackAddress() string {
	const callBits = 9 // of 24 bits: 510 calls in each of 32,768 processes
	call := (loopbacks.Add(1)-1)%(1<<callBits-2) + 1
	host := uint32(os.Getpid())<<callBits | call
	return fmt.Sprintf("127.%d.%d.%d", byte(host>>16), byte(host>>8), byte(host))
}

// Network claims a network of loopback addresses for a test, and returns its prefix, such as "127.150.". Two tests that run
// at the same time, also in several processes, have different ones. A listener at an address of the network that no test
// uses is the claim.
func Network(t testing.TB) string {
	t.Helper()
	for i := range 100 {
		prefix := fmt.Sprintf("127.%d.", 100+(os.Getpid()+i)%100)
		if claim, err := net.Listen("tcp", prefix+"255.254:3000"); err == nil {
			t.Cleanup(func() { _ = claim.Close() })
			return prefix
		}
	}
	t.Fatal("each of 100 networks of loopback addresses is in use")
	return ""
}
