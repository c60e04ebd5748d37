package explain

import (
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// transform applies the header changes of policies (their field transformation) to the headers of a request, in
// order.
func transform(r *request, headers headerFields, extras *ir.Extras) {
	templates := templateReader{r, headers, nil}
	for _, change := range extras.Request {
		switch change.Kind {
		case ir.SetHeader:
			headers.set(change.Name, templates.expand(change.Value))
		case ir.AddHeader:
			headers.add(change.Name, templates.expand(change.Value))
		case ir.RemoveHeader:
			headers.remove(change.Name)
		}
	}
}

// templateReader expands the templates of a transformation. headers are the request's headers after earlier
// changes. answer are the headers of the answer; it is nil for templates of requests.
type templateReader struct {
	request *request
	headers headerFields
	answer  headerFields
}

// expand returns the text of a template for the request. It stops when the text is longer than maxQueryBytes.
func (r templateReader) expand(template ir.Template) string {
	var b strings.Builder
	for _, expr := range template {
		if b.Len() > maxQueryBytes { // templates that read each other may double the length each time
			break
		}
		if isRead(expr) { // Envoy writes only the first line of the header
			b.WriteString(first(r.lines(expr)))
		} else {
			b.WriteString(r.evaluate(expr))
		}
	}
	return b.String()
}

// isRead reports whether an expression only reads a header.
func isRead(expr ir.Expr) bool { return expr.Func == "header" || expr.Func == "request_header" }

// evaluate returns the value of an expression of a template (see policy.parseTemplate). Envoy evaluates it in
// CEL: CEL joins the lines of a header, and changes the case of ASCII letters only.
func (r templateReader) evaluate(expr ir.Expr) string {
	switch {
	case isRead(expr):
		return strings.Join(r.lines(expr), ",")
	case expr.Func == "lower":
		return mapASCII(r.evaluate(expr.Args[0]), 'A', 'a')
	case expr.Func == "upper":
		return mapASCII(r.evaluate(expr.Args[0]), 'a', 'A')
	case expr.Func == "default":
		if value := r.evaluate(expr.Args[0]); value != "" {
			return value
		}
	}
	return expr.Text
}

// mapASCII replaces letters by other letters, such as lower case by upper case. The parameters from and to are
// the first letters of two ranges of 26 letters.
func mapASCII(text string, from, to byte) string {
	out := []byte(text)
	for i, c := range out {
		if from <= c && c < from+26 {
			out[i] = c - from + to
		}
	}
	return string(out)
}

// first returns the first of the values, "" if there is none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// lines returns the lines of the header that an expression reads (see isRead).
func (r templateReader) lines(expr ir.Expr) []string {
	if r.answer != nil && expr.Func == "header" {
		return r.answer[expr.Text]
	}
	return r.read(expr.Text)
}

// read returns the lines of a header of the request, nil if the request does not have it. A pseudo-header such as
// :path has one line.
func (r templateReader) read(name string) []string {
	switch name {
	case ":path":
		return []string{r.request.path + r.request.search}
	case ":method":
		return []string{r.request.query.Method}
	case ":authority", "host":
		return []string{r.request.query.Host}
	case ":scheme":
		return []string{r.request.scheme}
	}
	return r.headers[name]
}
