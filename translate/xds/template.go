package xds

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// format converts a template to a format string of Envoy. The parameter response is true if the template is for a
// response: the template function "header" then reads a header of the response, and not of the request. A missing
// header counts as the empty text. The result computed is true if the format string needs the CEL formatter (see
// celFormatter).
func format(template ir.Template, response bool) (text string, computed bool) {
	var b strings.Builder
	for _, expr := range template {
		switch command := readCommand(expr.Func, response); {
		case expr.Func == "":
			b.WriteString(strings.ReplaceAll(expr.Text, "%", "%%"))
		case command != "":
			fmt.Fprintf(&b, "%%%s(%s)%%", command, expr.Text)
		default:
			computed = true
			fmt.Fprintf(&b, "%%CEL(%s)%%", celExpr(expr, response))
		}
	}
	return b.String(), computed
}

// readCommand translates the name of a template function that reads a header into a command of Envoy's format
// strings: REQ for a header of the request, RESP for a header of the response. The parameter response is true if
// the template is for a response. For other functions, readCommand returns "".
func readCommand(function string, response bool) string {
	switch {
	case function == "request_header", function == "header" && !response:
		return "REQ"
	case function == "header":
		return "RESP"
	}
	return ""
}

// Functions of CEL that Envoy has only if celFormatter enables them.
const lowerCase, upperCase = ".lowerAscii()", ".upperAscii()"

// celExpr returns an expression of a template as an expression of CEL. The parameter response is true if the template
// is for a response. celExpr panics for a function that policy.parseTemplate does not know.
func celExpr(expr ir.Expr, response bool) string {
	switch expr.Func {
	case "":
		return celText(expr.Text)
	case "header", "request_header":
		headers := "request.headers"
		if readCommand(expr.Func, response) == "RESP" {
			headers = "response.headers"
		}
		name := celText(expr.Text)
		return fmt.Sprintf("(%s in %s ? %s[%s] : '')", name, headers, headers, name)
	case "lower":
		return celExpr(expr.Args[0], response) + lowerCase
	case "upper":
		return celExpr(expr.Args[0], response) + upperCase
	case "default":
		value := celExpr(expr.Args[0], response)
		return fmt.Sprintf("(%s != '' ? %s : %s)", value, value, celText(expr.Text))
	}
	panic("xds: no function " + expr.Func + " in CEL")
}

// celText returns a text as a CEL literal inside Envoy's format strings. It escapes everything except letters,
// digits and a few characters.
func celText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(" -_./:,;=", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return "'" + b.String() + "'"
}
