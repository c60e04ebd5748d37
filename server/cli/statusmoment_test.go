package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What status prints is of one moment: where a problem is fixed while it asks for the
// objects, it asks again.
func TestStatusIsOfOneMoment(t *testing.T) {
	fixed := false
	pages := http.NewServeMux()
	pages.HandleFunc("/api/v1/problems", func(w http.ResponseWriter, _ *http.Request) {
		if fixed {
			_, _ = w.Write([]byte(`{"problems": []}`))
			return
		}
		_, _ = w.Write([]byte(`{"problems": [{"severity": "error", "code": "Syntax", "file": "a.yaml", "message": "it ends early"}]}`))
	})
	pages.HandleFunc("/api/v1/status", func(w http.ResponseWriter, _ *http.Request) {
		fixed = true
		_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "List", "items": []}`))
	})
	empty := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) }
	pages.HandleFunc("/api/v1/envoys", empty)
	pages.HandleFunc("/api/v1/transport", empty)
	pages.HandleFunc("/api/v1/revisions", empty)
	pages.HandleFunc("/api/v1/certificates", empty)
	server := httptest.NewServer(pages)
	defer server.Close()
	var out, told bytes.Buffer
	code := Main([]string{"status", "--admin-address", server.URL}, &out, &told)
	if code != 0 || strings.Contains(out.String(), "it ends early") {
		t.Errorf("exit code %d: %s%s", code, out.String(), told.String())
	}
}
