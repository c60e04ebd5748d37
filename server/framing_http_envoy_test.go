package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/cases"
)

// answerAsOrdered is a service that is asked by HTTP. It answers with the bytes of Value in x-orders.
func answerAsOrdered(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for r := bufio.NewReader(conn); ; {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		if _, err := io.WriteString(conn, readOrders(request.Header.Get("X-Orders")).Value); err != nil {
			return
		}
	}
}

// hostileAnswers are messages with headers that could end another message early or late, with and
// without a body, for requests that pass and that are rejected.
func hostileAnswers() (all []string) {
	headers := []string{
		"content-length: 0\r\n", "content-length: 3\r\n", "content-length: 50\r\n", "content-length: 3\r\ncontent-length: 50\r\n", "content-length: 3, 50\r\n", "content-length : 3\r\n",
		"transfer-encoding: chunked\r\n", "transfer-encoding: identity\r\n", "transfer-encoding: chunked\r\ncontent-length: 3\r\n", "transfer-encoding: x, chunked\r\n", "transfer_encoding: chunked\r\ncontent-length: 0\r\n",
		"content_length: 50\r\ncontent-length: 0\r\n", "connection: close\r\ncontent-length: 0\r\n", "connection: upgrade\r\nupgrade: h2c\r\n", "te: trailers\r\ntrailer: content-length\r\ncontent-length: 0\r\n",
		"keep-alive: timeout=1\r\nproxy-connection: close\r\ncontent-length: 0\r\n", "expect: 100-continue\r\ncontent-length: 0\r\n", "host: b\r\n:authority: b\r\ncontent-length: 0\r\n", "host: b\r\ncontent-length: 0\r\n",
		"x-a: a\rx-b: b\r\ncontent-length: 0\r\n", "x-a: a\x00b\r\ncontent-length: 0\r\n", "x-a: a\r\n x-b: b\r\ncontent-length: 0\r\n", ":status: 204\r\ncontent-length: 0\r\n", "x b: b\r\ncontent-length: 0\r\n",
	}
	bodies := []string{"", evilBody, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(evilBody), evilBody), "0\r\n\r\n" + evilBody, "0\r\ncontent-length: 50\r\n\r\n"}
	for _, status := range []string{"200 OK", "401 Unauthorized", "204 No Content", "304 Not Modified", "101 Switching Protocols"} {
		for i, h := range headers {
			all = append(all, fmt.Sprintf("HTTP/1.1 %s\r\n%s\r\n%s", status, h, bodies[(i+1)%len(bodies)]))
		}
	}
	return all
}

// TestTeamsServicesByHTTPCannotBreakFraming: under path policies a team may have the filter
// ExternalAuth ask its own service by HTTP, with every header of the answers copied. Whatever that
// answers, the next request on the client's connection, and on Envoy's to the backend, is the
// innocent's, and stays it.
func TestTeamsServicesByHTTPCannotBreakFraming(t *testing.T) {
	backend := startRawBackend(t)
	service := envoytest.StartBackend(t, answerAsOrdered)
	run := startCase(t, &cases.Case{Name: "framing-http"})
	fenced, err := store.New(store.Options{ClusterPaths: tenancy.Globs{"platform/**"}})
	if err != nil {
		t.Fatal(err)
	}
	run.store = fenced
	rule := "  - matches: [{path: {value: /%s}}]\n    filters: [{type: ExternalAuth, externalAuth: {protocol: %s, backendRef: {group: gateway.kgateway.dev, kind: Backend, name: service}, forwardBody: {maxSize: 100}}}]\n" +
		"    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]\n"
	run.apply(cases.Step{Files: map[string]string{
		"platform/n.yaml":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n",
		"platform/calm.yaml": hostileFolder(backend.port(), service)["calm.yaml"],
		"team/evil.yaml": fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: service}\nspec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}\n---\n"+
			"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: evil}\nspec:\n  parentRefs: [{name: eg}]\n  rules:\n", service) +
			fmt.Sprintf(rule, "http", "HTTP, http: {allowedHeaders: [x-orders]}") + fmt.Sprintf(rule, "grpc", "GRPC, grpc: {}"),
	}})
	address := run.address + ":8080"
	run.envoy.WaitListener(address)
	if status, _ := dialRaw(t, address).send("GET /grpc HTTP/1.1\r\nhost: a\r\n\r\n"); status != http.StatusInternalServerError {
		t.Errorf("a team's service for gRPC: %d", status)
	}
	passed := 0
	for _, answer := range hostileAnswers() {
		client := dialRaw(t, address)
		_ = client.conn.SetDeadline(time.Now().Add(10 * time.Second))
		code, _ := client.send("GET /http HTTP/1.1\r\nhost: a\r\n" + orders{Value: answer}.header() + "\r\n")
		if code == http.StatusOK {
			passed++
		}
		status, body := client.send("GET /calm HTTP/1.1\r\nhost: a\r\n\r\n")
		if status == 0 { // Envoy closed the connection: that is safe
			client = dialRaw(t, address)
			_ = client.conn.SetDeadline(time.Now().Add(10 * time.Second))
			status, body = client.send("GET /calm HTTP/1.1\r\nhost: a\r\n\r\n")
		}
		if status != http.StatusOK || body != calmBody {
			t.Errorf("%q (%d): the next client gets %d %q", answer, code, status, body)
		}
		for _, got := range backend.take() {
			if fault := framingFault(got); fault != "" {
				t.Errorf("%q (%d): %s", answer, code, fault)
			}
		}
	}
	if passed < 10 {
		t.Errorf("%d answers let their request pass, more should", passed)
	}
}
