// Package page makes the HTML pages of the admin address. The server renders them. There is one stylesheet, and
// a short script that reloads a page and marks the changes. Everything else works without the script.
//
// The package reads the same documents as the JSON pages and the commands (admin.Documents), and changes
// nothing. Each page is a file of this package and a template with the same name. The size of a page is
// limited: a long list is split into several pages with links.
//
// Every name and message may come from an untrusted author. html/template escapes them for HTML, package
// visible makes control characters harmless, and the Content-Security-Policy allows the browser to load only
// files of this package.
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

// pages has the data and the templates of all pages.
type pages struct {
	documents admin.Documents
	drawings  map[string]*template.Template // by name of the page
	trees     keeper[treeKey, []*explain.TreeNode]
	objects   keeper[struct{}, folder]
}

// view is the input of the layout template, which surrounds each page.
type view struct {
	Title  string
	Active string // the name of the page, for the navigation
	Served admin.RevisionList
	// Live is true if the script reloads the page repeatedly.
	Live bool
	Body any
}

// show is a function that returns the body of a page for a request. If it returns an error, the client gets the
// page "failure" with the status of codeOf.
type show func(r *http.Request) (body any, err error)

// failure is an error with the status code of the response.
type failure struct {
	code  int
	words string
}

// Error implements error.
func (f failure) Error() string { return f.words }

// New returns the handler of the pages, for "/" and for paths below admin.PagePath.
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

// drawing parses the template of a page together with the layout. It panics if a template is invalid.
func drawing(name string) *template.Template {
	t := template.New("layout.html").Funcs(functions())
	return template.Must(t.ParseFS(templates, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
}

// secured returns a handler that adds headers to each response. The headers restrict what a browser may do with
// the pages.
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

// answer calls the function body, renders its result as a page and sends the page. If the client already has this
// page (its header If-None-Match has the page's ETag), answer sends only the status 304. If body returns an error,
// answer sends the page "failure" with the status of codeOf.
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
		panic(err) // a template is wrong; tests find this
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
	_, _ = w.Write(drawn.Bytes()) // an error means that the client has disconnected
}

// codeOf returns the HTTP status for an error that a page's show function returned:
//   - If the error is a failure, the status is failure.code.
//   - If nothing is loaded yet (admin.ErrUnloaded), or gatefold is busy with a change of the folder
//     (admin.ErrBusy), the status is 503.
//   - For all other errors, the status is 400.
func codeOf(err error) int {
	if f, ok := err.(failure); ok { //nolint:errorlint // pages return it as it is
		return f.code
	}
	if err == admin.ErrUnloaded || err == admin.ErrBusy { //nolint:errorlint // the documents return it as it is
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// asset returns a handler that serves a fixed file.
func asset(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content)
	}
}
