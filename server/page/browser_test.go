package page_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// chromium returns a headless browser. Without one the test is skipped, and fails where CI is true.
func chromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the pass without -short has it")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "NOT TESTED in a browser, for want of chromium: apt-get install chromium"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// browse runs the browser on a page and returns what it prints.
func browse(t *testing.T, page string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	arguments = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--user-data-dir=" + t.TempDir()}, arguments...)
	command := exec.CommandContext(ctx, chromium(t), append(arguments, page)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr, command.WaitDelay = &stdout, &stderr, 10*time.Second
	if err := command.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return stdout.String()
}

// hostileFiles are files whose names and texts would run script where a page took them for HTML.
func hostileFiles() map[string]string {
	const attack = `<img src=x onerror=document.title="attacked">`
	return map[string]string{
		"shop.yaml":   shop,
		"broken.yaml": broken,
		strings.ReplaceAll(attack, "/", "_") + "<script>document.title='attacked'<_script>.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n" +
			"metadata: {name: hostile, namespace: team}\nspec:\n  parentRefs: [{name: edge, namespace: platform}]\n  '" + attack + "': 1\n  '</main><script>document.title=\"attacked\"</script>': 2\n",
	}
}

// A real browser shows each page, runs nothing that a file of the folder says, and has something to
// show in wide and narrow windows, light and dark.
func TestInABrowser(t *testing.T) {
	browser := chromium(t)
	t.Log("in", browser)
	s := serve(t, hostileFiles())
	object := "/page/object?group=gateway.networking.k8s.io&kind=HTTPRoute&namespace=team&name="
	for path, text := range map[string]string{
		"/": "onerror", "/page/routes": "onerror", "/page/problems": "onerror", "/page/edits": "Revision 1", object + "hostile": "onerror", object + "cart": "selected by namespace team",
		"/page/explain?url=" + url.QueryEscape(`http://shop.example.com:8080/cart/list?<script>document.title="attacked"</script>`): "Backend/team/cart",
	} {
		page := browse(t, "http://"+s.admin+path, "--virtual-time-budget=3000", "--dump-dom")
		if !strings.Contains(page, "</main>") || !strings.Contains(words(page), text) {
			t.Errorf("%s does not show %q: %s", path, text, page)
		}
		if strings.Contains(page, "<title>attacked") || strings.Contains(page, "<img") {
			t.Errorf("%s runs a text of the folder: %s", path, page)
		}
	}
	for name, arguments := range map[string][]string{
		"wide":        {"--window-size=1280,1000"},
		"narrow":      {"--window-size=500,1000"},
		"wide, dark":  {"--window-size=1280,1000", "--blink-settings=preferredColorScheme=0"},
		"narrow dark": {"--window-size=500,1000", "--blink-settings=preferredColorScheme=0"},
	} {
		file := filepath.Join(t.TempDir(), "page.png")
		browse(t, "http://"+s.admin+"/", append(arguments, "--screenshot="+file)...)
		picture, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := png.Decode(picture)
		picture.Close()
		if err != nil {
			t.Fatal(err)
		}
		r, g, b, _ := shown.At(shown.Bounds().Dx()/2, shown.Bounds().Dy()-2).RGBA()
		if dark := (r+g+b)/3 < 0x8000; dark != strings.Contains(name, "dark") {
			t.Errorf("%s: the ground is %x %x %x", name, r>>8, g>>8, b>>8)
		}
	}
}

// The script fetches a page again and shows what changed, without loading the page a second time.
func TestTheScriptShowsAnEdit(t *testing.T) {
	chromium(t)
	s := serve(t, map[string]string{"shop.yaml": shop})
	target, err := url.Parse("http://" + s.admin)
	if err != nil {
		t.Fatal(err)
	}
	loads, edited := make(chan struct{}, 100), make(chan struct{})
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Dest") == "document":
			loads <- struct{}{}
		case r.URL.Path == "/" && r.Header.Get("If-None-Match") != "": // the script looks again, so it knows the page before
			select {
			case <-edited:
			default:
				s.write("broken.yaml", broken)
				s.until("the edit is served", func() bool { return strings.Contains(s.get("/"), "matchs") })
				close(edited)
			}
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	page := browse(t, proxy.URL+"/", "--virtual-time-budget=15000", "--dump-dom")
	if !strings.Contains(words(page), "matchs") || !strings.Contains(page, "Revision 2") {
		t.Errorf("the edit is not shown: %s", page)
	}
	if len(loads) != 1 {
		t.Errorf("the page was loaded %d times", len(loads))
	}
}
