// Package page draws the pages for people at the admin address: HTML that the server makes, one
// stylesheet, and a few lines of script that fetch a page again and show what changed. Without the
// script everything works but that.
//
// The package reads the documents that the JSON pages and the commands read (admin.Documents), and
// changes nothing. Each page is a file here and a template of the same name. What a page holds is
// bounded: long lists are cut into pieces that links lead to.
//
// Every name and message is somebody else's text. html/template escapes it for HTML, the whole
// page goes through package visible, and the policy of the page lets a browser load and run nothing
// but the files here.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/explain"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets/page.css
var stylesheet []byte

//go:embed assets/page.js
var script []byte

// policy is the Content-Security-Policy of every page.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// pages has the data of all pages.
type pages struct {
	documents admin.Documents
	drawings  map[string]*template.Template // by name
	trees     keeper[explain.TreeFilter, []*explain.TreeNode]
	objects   keeper[struct{}, folder]
}

// view is the layout around each page.
type view struct {
	Title  string
	Active string // the name of the page
	Served admin.RevisionList
	// Live has the script fetch the page again and again.
	Live bool
	Body any
}

// show returns the body of a page. An error is answered with its status code.
type show func(r *http.Request) (body any, err error)

// failure is the error of a page that cannot be shown.
type failure struct {
	code  int
	words string
}

// Error implements error.
func (f failure) Error() string { return f.words }

// New returns the pages, for / and below admin.PagePath.
func New(documents admin.Documents) http.Handler {
	p := &pages{documents: documents, drawings: map[string]*template.Template{}}
	mux := http.NewServeMux()
	add := func(path, name, title string, live bool, body show) {
		p.drawings[name] = drawing(name)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			p.answer(w, r, view{Title: title, Active: name, Live: live}, body)
		})
	}
	add("/{$}", "overview", "Overview", true, p.overview)
	add(admin.PagePath+"routes", "routes", "Routes", true, p.routes)
	add(admin.PagePath+"object", "object", "Object", true, p.object)
	add(admin.PagePath+"explain", "explain", "Explain", false, p.explain)
	add(admin.PagePath+"certificates", "certificates", "Certificates", true, p.certificates)
	add(admin.PagePath+"endpoints", "endpoints", "Endpoints", false, p.endpoints)
	add(admin.PagePath+"edits", "edits", "Edits", true, p.edits)
	add(admin.PagePath+"problems", "problems", "Problems", true, p.problems)
	p.drawings["failure"] = drawing("failure")
	mux.HandleFunc(admin.PagePath+"page.css", asset("text/css; charset=utf-8", stylesheet))
	mux.HandleFunc(admin.PagePath+"page.js", asset("text/javascript; charset=utf-8", script))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.answer(w, r, view{Title: "Not found"}, func(r *http.Request) (any, error) {
			return nil, failure{http.StatusNotFound, "there is no page " + r.URL.Path}
		})
	})
	return secured(mux)
}

// drawing parses the template of a page, with the layout around it.
func drawing(name string) *template.Template {
	t := template.New("layout.html").Funcs(functions())
	return template.Must(t.ParseFS(templates, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
}

// secured sets headers that restrict the browser to showing the page.
func secured(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		pages.ServeHTTP(w, r)
	})
}

// answer draws a page. It does not send a page again that the client already has, by its ETag.
func (p *pages) answer(w http.ResponseWriter, r *http.Request, v view, body show) {
	code := http.StatusOK
	v.Served = p.documents.Revisions()
	shown, err := body(r)
	name := v.Active
	if err != nil {
		code, name, shown = codeOf(err), "failure", err.Error()
		v.Live = code == http.StatusServiceUnavailable
	}
	v.Body = shown
	var drawn bytes.Buffer
	if err := p.drawings[name].Execute(visible.NewWriter(&drawn), v); err != nil {
		panic(err) // a template is wrong, which a test finds
	}
	sum := sha256.Sum256(drawn.Bytes())
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	if code == http.StatusOK && strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(drawn.Bytes()) // that a client does not take it is no error of gatefold
}

// codeOf returns the status code for an error.
func codeOf(err error) int {
	if f, ok := err.(failure); ok { //nolint:errorlint // pages return it as it is
		return f.code
	}
	if err == admin.ErrUnloaded { //nolint:errorlint // the documents return it as it is
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// asset serves a file of the page.
func asset(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content)
	}
}
