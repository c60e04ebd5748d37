package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/examples/echo/handler"
)

func TestEchoServesEachPairUntilStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	output, writer := io.Pipe()
	exit := make(chan int, 1)
	go func() {
		exit <- run(ctx, []string{"--name", "a", "--address", "127.0.0.1:0", "b=127.0.0.1:0"}, writer, io.Discard)
		_ = writer.Close()
	}()

	addresses := listening(t, output, 2)
	for name, address := range addresses {
		answer := get(t, "http://"+address+"/x%2Fy/../z?q=1")
		if answer.Backend != name || answer.Path != "/x%2Fy/../z" || answer.Query != "q=1" || answer.Host != address {
			t.Errorf("backend %s answered %+v", name, answer)
		}
	}
	stop()
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d after stop, want 0", code)
	}
}

// listening reads the addresses of n backends from the program's output.
func listening(t *testing.T, output io.Reader, n int) map[string]string {
	t.Helper()
	line := regexp.MustCompile(`echo: (\S+) listens on (\S+)\n`)
	addresses := map[string]string{}
	var text bytes.Buffer
	for chunk := make([]byte, 256); len(addresses) < n; {
		read, err := output.Read(chunk)
		if err != nil {
			t.Fatalf("output ended with %v: %s", err, &text)
		}
		text.Write(chunk[:read])
		for _, found := range line.FindAllStringSubmatch(text.String(), -1) {
			addresses[found[1]] = found[2]
		}
	}
	return addresses
}

func get(t *testing.T, url string) handler.Answer {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer handler.Answer
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if header := response.Header.Get(handler.BackendHeader); header != answer.Backend {
		t.Errorf("%s: %s, want %s", handler.BackendHeader, header, answer.Backend)
	}
	return answer
}

func TestEchoRefusesWrongArguments(t *testing.T) {
	for _, test := range []struct {
		args string
		exit int
		want string
	}{
		{"", 2, "no backend given"},
		{"a", 2, `"a" is not NAME=HOST:PORT`},
		{"=127.0.0.1:0", 2, "is not NAME=HOST:PORT"},
		{"--port 1", 2, "-port"},
		{"a=nowhere", 1, "missing port"},
		{"--help", 0, "usage: echo"},
	} {
		var stderr bytes.Buffer
		exit := run(t.Context(), strings.Fields(test.args), io.Discard, &stderr)
		if exit != test.exit || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("echo %s: exit %d, %q; want %d, %q", test.args, exit, &stderr, test.exit, test.want)
		}
	}
}
