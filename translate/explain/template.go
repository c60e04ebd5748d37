package explain

import (
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// transformed gives the request's headers after the policies' changes, one after
// the other.
func (r *request) transformed(extras *ir.Extras) http.Header {
	headers := r.clone()
	if extras == nil {
		return headers
	}
	for _, change := range extras.Request {
		switch change.Kind {
		case ir.SetHeader:
			headers.Set(change.Name, r.expand(headers, change.Value))
		case ir.AddHeader:
			headers.Add(change.Name, r.expand(headers, change.Value))
		case ir.RemoveHeader:
			headers.Del(change.Name)
		}
	}
	return changeHeaders(headers, extras.RequestHeaders)
}

func (r *request) expand(headers http.Header, template ir.Template) string {
	var b strings.Builder
	for _, expr := range template {
		b.WriteString(r.evaluate(headers, expr))
	}
	return b.String()
}

// evaluate knows the functions of policy.parseTemplate.
func (r *request) evaluate(headers http.Header, expr ir.Expr) string {
	switch expr.Func {
	case "header", "request_header":
		return r.read(headers, expr.Text)
	case "lower":
		return strings.ToLower(r.evaluate(headers, expr.Args[0]))
	case "upper":
		return strings.ToUpper(r.evaluate(headers, expr.Args[0]))
	case "default":
		if value := r.evaluate(headers, expr.Args[0]); value != "" {
			return value
		}
	}
	return expr.Text
}

// read gives the first value of a header, as Envoy's formats do.
func (r *request) read(headers http.Header, name string) string {
	switch name {
	case ":path":
		return r.path + r.search
	case ":method":
		return r.query.Method
	case ":authority", "host":
		return r.query.Host
	case ":scheme":
		return r.query.Scheme
	}
	return headers.Get(name)
}
