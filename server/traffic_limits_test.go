package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/cases"
)

// limitsPage is the document that says what TestLimitsOfTraffic tries.
const limitsPage = "../docs/reference/limits.md"

// Requests at a limit and beyond it get what the page of limits says. Each row quotes the page.
func TestLimitsOfTraffic(t *testing.T) {
	page, err := os.ReadFile(limitsPage)
	if err != nil {
		t.Fatal(err)
	}
	run := startCase(t, &cases.Case{})
	run.apply(closedFolder(t, "", "", plainHTTP(8081)))
	fields := func(n int) string { return strings.Repeat("x-a: v\r\n", n) }
	const host = "Host: shop.example.com\r\n"
	for _, c := range []struct {
		page, head string
		want       int
	}{
		{"| 60 KiB | 431 |", "GET / HTTP/1.1\r\n" + host + "x-a: " + strings.Repeat("v", 59<<10) + "\r\n", 200},
		{"| 60 KiB | 431 |", "GET / HTTP/1.1\r\n" + host + "x-a: " + strings.Repeat("v", 60<<10) + "\r\n", 431},
		{"all together with the path", "GET /" + strings.Repeat("v", 60<<10) + " HTTP/1.1\r\n" + host, 431},
		{"| 100 | 431;", "GET / HTTP/1.1\r\n" + host + fields(99), 200},
		{"| 100 | 431;", "GET / HTTP/1.1\r\n" + host + fields(100), 431},
		{"| HTTP/1.0 or HTTP/0.9 | 426;", "GET / HTTP/1.0\r\n" + host, 426},
		{"| HTTP/1.1 without `Host` | 400 |", "GET / HTTP/1.1\r\n", 400},
		{"| a `Host` with a port, or in capitals |", "GET / HTTP/1.1\r\nHost: SHOP.example.com:99\r\n", 200},
		{"| `Content-Length` and `Transfer-Encoding` | 400 |", "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400},
		{"the upgrade is ignored: the request is HTTP/1.1", "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", 200},
		{"| another `Upgrade` | 403 |", "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: other\r\n", 403},
		{"| `CONNECT` | 404 |", "CONNECT shop.example.com:443 HTTP/1.1\r\nHost: shop.example.com:443\r\n", 404},
	} {
		if !strings.Contains(string(page), c.page) {
			t.Errorf("%s does not say %q", limitsPage, c.page)
		}
		if got := statusOfHead(t, run.address+":8081", c.head); got != c.want {
			t.Errorf("%.80q gets %d, want %d", c.head, got, c.want)
		}
	}
}

// statusOfHead sends the head of a request as it stands, on a connection of its own, and returns the status of the answer.
func statusOfHead(t *testing.T, address, head string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprint(conn, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.80q: %v", head, err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
