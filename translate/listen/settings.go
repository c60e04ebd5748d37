package listen

import (
	"fmt"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// readSettings reads what annotations say of all listeners.
func (g *Gateway) readSettings(annotations map[string]string) {
	switch value, set := annotations[api.AnnotationProxyProtocol]; {
	case value == "true":
		g.Settings.ProxyProtocol = true
	case set && value != "false":
		g.strangeAnnotation(api.AnnotationProxyProtocol, value, `write "true" (each connection begins with a PROXY header) or "false"`)
	}
	switch value, set := annotations[api.AnnotationAccessLog]; {
	case value == string(ir.LogText), value == string(ir.LogOff):
		g.Settings.AccessLog = ir.AccessLog(value)
	case set && value != "json":
		g.strangeAnnotation(api.AnnotationAccessLog, value, `write json, text or "off"`)
	}
}

func (g *Gateway) strangeAnnotation(name, value, hint string) {
	g.problem("InvalidValue", "metadata.annotations["+name+"]", fmt.Sprintf("%s: %q means nothing and is as if it were not there", name, value), hint)
	g.Problems[len(g.Problems)-1].Severity = manifest.Warning
}
