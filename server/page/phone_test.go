package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// phoneWidth is the width of a phone in CSS pixels.
const phoneWidth = 390

// onPhone shows a page of the site in a frame as wide as a phone, and returns what of it does not fit: the page, each
// table, and each element that begins or ends outside, and each cell of a table without a label.
func onPhone(t *testing.T, s *site, path string) (tooWide []string) {
	t.Helper()
	target, err := url.Parse("http://" + s.admin)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ModifyResponse = func(r *http.Response) error { // the pages forbid frames
		r.Header.Del("Content-Security-Policy")
		r.Header.Del("X-Frame-Options")
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("/", forward)
	mux.HandleFunc("/phone", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><body><iframe id="phone" width="%d" height="2000" style="border: 0"></iframe><ul id="wide"></ul><script>
phone.onload = () => {
  const page = phone.contentDocument, width = page.documentElement.clientWidth;
  const say = (e) => { const li = document.createElement('li'); li.textContent = e.tagName + ' ' + e.textContent.trim().slice(0, 60); wide.append(li); };
  if (page.documentElement.scrollWidth > width) say(page.documentElement);
  for (const e of page.querySelectorAll('.wide, dl, form, .pill')) if (e.scrollWidth > e.clientWidth + 1) say(e);
  for (const e of page.querySelectorAll('.wide td:not([colspan]):not([data-label])')) say(e); // the head of the table is not seen
  for (const e of page.querySelectorAll('main *')) {
    const box = e.getBoundingClientRect();
    if (!e.closest('pre, thead') && box.width && (box.left < 0 || box.right > width + 1)) say(e);
  }
  document.body.dataset.done = page.querySelectorAll('main *').length;
};
phone.src = %q;
</script>`, phoneWidth, path)
	})
	proxy := httptest.NewServer(mux)
	defer proxy.Close()
	page := browse(t, proxy.URL+"/phone", "--virtual-time-budget=3000", "--dump-dom")
	if !regexp.MustCompile(`data-done="[1-9]`).MatchString(page) {
		t.Errorf("%s is not shown: %s", path, page)
	}
	_, list, _ := strings.Cut(page, `<ul id="wide">`)
	list, _, _ = strings.Cut(list, "</ul>")
	for _, item := range strings.Split(list, "</li>") {
		if text := words(item); text != "" {
			tooWide = append(tooWide, text)
		}
	}
	return tooWide
}

// Each page fits into the width of a phone, also with long names. Only YAML is moved sideways.
func TestThePagesFitAPhone(t *testing.T) {
	chromium(t)
	long := strings.Repeat("a-long-name-", 5) + "ends"
	s := serve(t, map[string]string{"shop.yaml": shop, "broken.yaml": broken, long + ".yaml": strings.NewReplacer("name: broken", "name: "+long, "matchs", "backendRefz").Replace(broken)})
	now := time.Now().UTC()
	service := manifest.Key{Kind: "Service", Namespace: long, Name: long}
	envoys := known{
		connected: []admin.Connected{{Envoy: health.Envoy{Node: long, NodeCluster: "edge/" + long, Version: "1.40.0", Peer: "127.0.0.1:4001", Endpoints: 3, Backends: []health.Backend{
			{Object: service, Port: 80, Cluster: "Service/" + long + "/" + long + "/80", Healthy: 1, Endpoints: 3, Unhealthy: []health.Endpoint{
				{Address: "10.0.0.1:80", Hostname: long + ".internal", Reasons: []health.Reason{health.CheckFailed}, Message: "its health check fails"},
			}},
		}}}},
		supervised:   []host.State{{Gateway: "edge/" + long, Phase: host.OverLimit, Outdated: true, Pid: 41, Started: now, Restarts: 30, Message: "Envoy is not replaced. Fix what is wrong and restart gatefold."}},
		fleets:       []admin.Fleet{{Gateway: "edge/" + long, State: "frozen", Newest: 7, Since: now, Envoys: 3, Canaries: []string{long, "canary"}, Problem: "a canary rejected it", Hint: "revert the edit"}},
		certificates: []ir.Certificate{{Secret: manifest.Key{Kind: "Secret", Namespace: "edge", Name: long}, Sum: "ab12cd34ef56", Names: []string{long + ".example.com"}, NotBefore: now, NotAfter: now.Add(time.Hour)}},
	}.site(t)
	object := "/page/object?group=gateway.networking.k8s.io&kind="
	for path, on := range map[string]*site{
		"/": s, "/page/routes": s, "/page/problems": s, "/page/edits": s, object + "Gateway&namespace=platform&name=edge": s, object + "HTTPRoute&namespace=team&name=cart": s,
		object + "HTTPRoute&namespace=team&name=" + long: s, "/page/explain?url=" + url.QueryEscape("http://shop.example.com:8080/cart/list"): s,
		"/page/certificates": envoys, "/page/endpoints": envoys, "/?envoys": envoys,
	} {
		if wide := onPhone(t, on, path); len(wide) > 0 {
			t.Errorf("%s does not fit into %d pixels:\n%s", path, phoneWidth, strings.Join(wide, "\n"))
		}
	}
}
