package page_test

import (
	"bytes"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// docs/guides/page.md shows pictures of the folder that docs/guides/tree.md has, small enough for a repository.
// `UPDATE=1 go test ./server/page -run Pictures` draws them in Chromium.
func TestTheGuideShowsPictures(t *testing.T) {
	pictures := map[string]string{
		"page-routes.png":  "/page/routes",
		"page-explain.png": "/page/explain?url=" + url.QueryEscape("http://shop.example.com:8080/pay"),
	}
	guide, err := os.ReadFile("../../docs/guides/page.md")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		text, err := os.ReadFile("../../docs/guides/tree.md")
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, map[string]string{"shop.yaml": string(regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)[1])})
		for name, path := range pictures {
			file, err := filepath.Abs("../../docs/guides/" + name)
			if err != nil {
				t.Fatal(err)
			}
			browse(t, "http://"+s.admin+path, "--window-size=1100,760", "--virtual-time-budget=3000", "--screenshot="+file)
		}
	}
	for name := range pictures {
		content, err := os.ReadFile("../../docs/guides/" + name)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := png.DecodeConfig(bytes.NewReader(content))
		if err != nil || shown.Width < 1000 || len(content) > 120_000 {
			t.Errorf("%s: %d pixels wide, %d bytes: %v", name, shown.Width, len(content), err)
		}
		if !bytes.Contains(guide, []byte("]("+name+")")) {
			t.Errorf("the guide does not show %s", name)
		}
	}
}
