package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"
)

// A browser that asks for the sake of a page of another site, or of another port of this host,
// gets no page; what a person opens, and what is no browser, does.
func TestPagesOfOtherSitesReadNothing(t *testing.T) {
	s := New(Options{}, zerolog.Nop())
	pages := s.adminPages(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/v1/xds", "/api/v1/explain?url=http://a.test/", "/api/v1/problems", "/api/v1/status", "/api/v1/envoys", "/api/v1/transport", "/api/v1/revisions", "/api/v1/snapshot", "/api/v1/places", "/", "/page/routes", "/page/object", "/none"} {
		for site, refused := range map[string]bool{"cross-site": true, "same-site": true, "odd": true, "same-origin": false, "none": false, "": false} {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1"+path, nil)
			if site != "" {
				request.Header.Set("Sec-Fetch-Site", site)
			}
			response := httptest.NewRecorder()
			pages.ServeHTTP(response, request)
			if got := response.Code == http.StatusForbidden; got != refused {
				t.Errorf("%s of a page of %q: status %d", path, site, response.Code)
			}
		}
	}
}
