package cli

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A panic of any command is one line for its user, and exit code 2.
func TestAPanicOfACommandIsOneLine(t *testing.T) {
	root := rootCommand()
	root.AddCommand(&cobra.Command{Use: "panic", RunE: func(*cobra.Command, []string) error {
		var none *explainOptions
		none.gateway = "n/g"
		return nil
	}})
	root.SetArgs([]string{"panic"})
	var stderr bytes.Buffer
	if code := run(t.Context(), root, &stderr); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	want := `^gatefold: internal error: runtime error: invalid memory address or nil pointer dereference \(at cli/mistake_test\.go:\d+.*\); this is a bug in gatefold, please report it\n$`
	if got := stderr.String(); !regexp.MustCompile(want).MatchString(got) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

// The client says what happened when a gatefold that is there does not answer.
func TestClientSaysHowAnAnswerFailed(t *testing.T) {
	pages := map[string]http.HandlerFunc{
		"failed to answer: internal error; see its log": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"cannot reach gatefold at ADDRESS: connection closed unexpectedly": func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
		"the answer of gatefold at ADDRESS is incomplete: connection closed unexpectedly": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for want, page := range pages {
		server := httptest.NewServer(page)
		address := server.Listener.Addr().String()
		_, _, err := (&client{address: address, timeout: patience}).get(t.Context(), "/readyz")
		server.Close()
		if want = strings.ReplaceAll(want, "ADDRESS", address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestClientSaysThatNothingListens(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	want := "cannot reach gatefold at " + address + ": connection refused"
	if _, _, err := (&client{address: address, timeout: patience}).get(t.Context(), "/readyz"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
