package envoytest

import (
	"net"
	"testing"
	"time"
)

// EchoUDP answers each datagram to "ip:port" with the name of the backend, until the test ends.
func EchoUDP(t testing.TB, name, address string) {
	t.Helper()
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, maxDatagram)
		for {
			_, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo([]byte(name), from)
		}
	}()
}

// maxDatagram is the size of the largest datagram, in bytes.
const maxDatagram = 1500

// Sessions sends a datagram to "ip:port" from each of n sockets, and waits for the answers. The parameter within
// limits the wait. Sessions returns the number of answers by backend; the backend names itself in its answer. Under
// "" is the number of datagrams without an answer.
func Sessions(t testing.TB, address string, n int, within time.Duration) map[string]int {
	t.Helper()
	var sockets []net.Conn
	for range n {
		socket, err := net.Dial("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = socket.Close() }()
		_, _ = socket.Write([]byte("hello")) // there may be no listener yet
		sockets = append(sockets, socket)
	}
	// Read all sockets in parallel. After its deadline, a socket returns no data, even data that has arrived.
	read := make(chan string)
	for _, socket := range sockets {
		_ = socket.SetReadDeadline(time.Now().Add(within))
		go func() {
			buffer := make([]byte, maxDatagram)
			size, err := socket.Read(buffer)
			if err != nil {
				size = 0
			}
			read <- string(buffer[:size])
		}()
	}
	answers := map[string]int{}
	for range sockets {
		answers[<-read]++
	}
	return answers
}
