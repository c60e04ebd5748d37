package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// TestStrictAppliesNoErrorOfARunningFolder: with serve --strict, an edit that would stop a live site, and that its schema
// takes, is not applied; nor is what comes with it. Everything is applied when the error is fixed.
func TestStrictAppliesNoErrorOfARunningFolder(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"a protocol that is misspelt":      {"protocol: HTTP", "protocol: HTPS"},
		"a class that is misspelt":         {"gatewayClassName: gatefold", "gatewayClassName: gatefolt"},
		"a second protocol on the port":    {"listeners: [", "listeners: [{name: second, port: PORT, protocol: HTTPS, tls: {certificateRefs: [{name: none}]}}, "},
		"an annotation that is not usable": {"metadata: {name: eg}", `metadata: {name: eg, annotations: {gatefold.io/min-tls-version: "1.4"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, "steady")
			s.stderr, s.change = new(sharedLog), func(o *serveOptions) { o.strict = true }
			host, port, _ := strings.Cut(s.address, ":")
			s.serve(host)
			s.waitFor("steady", "a")
			text, err := os.ReadFile(filepath.Join(s.folder, "gateway.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			right := string(text)
			wrong := strings.Replace(right, edit[0], strings.ReplaceAll(edit[1], "PORT", port), 1)
			if wrong == right {
				t.Fatalf("%q is not in %s", edit[0], right)
			}
			s.write("gateway.yaml", wrong)
			s.write("steady.yaml", s.route("steady", "b"))
			envoytest.Wait(t, "the folder to be frozen", func() error {
				if code, text := s.status("json"); code != 1 || !frozenByError(text) {
					return fmt.Errorf("status: exit code %d: %s", code, text)
				}
				return nil
			})
			for range 20 {
				if got := envoytest.Do(t, s.request("steady")); got.Status != 200 || got.Backend != "a" {
					t.Errorf("while it is frozen: %d from %q", got.Status, got.Backend)
				}
			}
			s.write("gateway.yaml", right)
			s.waitFor("steady", "b")
		})
	}
}

// frozenByError reports whether a page of status says that the folder is frozen, and why.
func frozenByError(page string) bool {
	var status struct{ Frozen string }
	err := json.NewDecoder(bytes.NewReader([]byte(page))).Decode(&status)
	return err == nil && strings.Contains(status.Frozen, "With --strict gatefold applies none of the folder's changes")
}
