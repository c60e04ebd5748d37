package cli

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A command whose gatefold takes the connection and does not answer says what it waits for,
// and ends at its timeout.
func TestACommandSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()                                    // with the others that wait for most of their time
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	address := silent.Addr().String()
	for command, code := range map[string]int{"status": 2, "reload": 2, "healthcheck": 1} {
		var out, told sharedLog
		if got := Main([]string{command, "--admin-address", address, "--timeout", "1500ms"}, &out, &told); got != code {
			t.Errorf("%s: exit code %d, want %d", command, got, code)
		}
		for _, words := range []string{"waiting for gatefold at " + address, "1.5s at most", "no answer in time"} {
			if !strings.Contains(told.String(), words) {
				t.Errorf("%s does not say %q: %s", command, words, told.String())
			}
		}
	}
}

// A container's check has ended by itself when the container's patience does.
func TestHealthcheckIsFasterThanItsContainer(t *testing.T) {
	for path, pattern := range map[string]string{
		"Dockerfile":          `HEALTHCHECK .*--timeout=(\S+) `,
		"docker-compose.yaml": `(?s)gatefold, healthcheck\].*?timeout: (\S+)`,
	} {
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(pattern).FindSubmatch(text)
		if match == nil {
			t.Fatalf("%s has no %s", path, pattern)
		}
		limit, err := time.ParseDuration(string(match[1]))
		if err != nil || limit <= healthTimeout {
			t.Errorf("%s waits %s, healthcheck %s; %v", path, match[1], healthTimeout, err)
		}
	}
}
