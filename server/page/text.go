package page

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/codes"
	"github.com/gatefold/gatefold/store/manifest"
)

// maxText limits the bytes of one text that a page shows. So the size of a page is limited, whatever its texts are.
const maxText = 600

// functions returns the functions that the templates call.
func functions() template.FuncMap {
	return template.FuncMap{
		"place": place, "link": objectLink, "code": codes.URL, "time": timeWords, "day": dayWords, "cut": cut, "ms": milliseconds,
		"count": count, "list": listed, "share": shareWords, "pages": entries,
		"tree": treeLink, "wrong": func(c metav1.Condition) bool { return len(board.Part{Conditions: []metav1.Condition{c}}.Wrong()) > 0 },
	}
}

// cut shortens a text to at most maxText bytes, as cutTo does.
func cut(text string) string { return cutTo(text, maxText) }

// cutTo shortens a text to at most limit bytes, and appends "…". It does not cut a UTF-8 character in two. A
// text of at most limit bytes is returned unchanged.
func cutTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// place returns FILE:LINE. It returns only the file if the line is not known, and "" if nothing is known.
func place(p store.Place) string {
	if p.Line == 0 {
		return cut(p.File)
	}
	return fmt.Sprintf("%s:%d", cut(p.File), p.Line)
}

// objectLink returns the URL of the page of an object, or "" for a zero key.
func objectLink(key manifest.Key) string {
	if key.IsZero() {
		return ""
	}
	query := url.Values{"kind": {key.Kind}, "name": {key.Name}}
	if key.Group != "" {
		query.Set("group", key.Group)
	}
	if key.Namespace != "" {
		query.Set("namespace", key.Namespace)
	}
	return admin.PagePath + "object?" + query.Encode()
}

// treeLink returns the URL of the tree of routes, filtered by one route.
func treeLink(route manifest.Key) string {
	return admin.PagePath + "routes?" + url.Values{"route": {route.Namespace + "/" + route.Name}}.Encode()
}

// timeWords returns a time with seconds, or "" for the zero time.
func timeWords(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// dayWords returns a time without seconds.
func dayWords(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// milliseconds returns a duration as text with a suitable unit. ms is in milliseconds.
func milliseconds(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", math.Round(ms))
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// count returns a number with its noun, such as "1 file" or "2 files".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// entry is a page in the navigation.
type entry struct{ Name, Title, Path string }

// entries returns the pages of the navigation, in their order.
func entries() []entry {
	return []entry{
		{"overview", "Overview", "/"},
		{"routes", "Routes", admin.PagePath + "routes"},
		{"explain", "Explain", admin.PagePath + "explain"},
		{"problems", "Problems", admin.PagePath + "problems"},
		{"endpoints", "Endpoints", admin.PagePath + "endpoints"},
		{"certificates", "Certificates", admin.PagePath + "certificates"},
		{"edits", "Edits", admin.PagePath + "edits"},
	}
}
