package server_test

import (
	"net/http"
	"testing"

	"github.com/gatefold/gatefold/server"
)

// A browser that asks for the sake of a page of another site, or of another port of this host,
// gets no page; what a person opens, and what is no browser, does.
func TestPagesOfOtherSitesReadNothing(t *testing.T) {
	r := start(t, server.Options{})
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/v1/xds", "/api/v1/explain?url=http://a.test/", "/api/v1/problems", "/api/v1/status", "/api/v1/envoys", "/api/v1/transport", "/api/v1/revisions", "/api/v1/snapshot", "/api/v1/places", "/", "/page/routes", "/page/object", "/none"} {
		for site, refused := range map[string]bool{"cross-site": true, "same-site": true, "odd": true, "same-origin": false, "none": false, "": false} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.admin.String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if site != "" {
				request.Header.Set("Sec-Fetch-Site", site)
			}
			code, _ := answerTo(t, request)
			if got := code == http.StatusForbidden; got != refused {
				t.Errorf("%s of a page of %q: status %d", path, site, code)
			}
		}
	}
}
