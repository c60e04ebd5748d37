package listen

import (
	"fmt"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// readSettings sets r.Settings from the annotations of the Gateway that configure all of its listeners.
// readSettings adds a warning for each annotation with an unknown value, and otherwise ignores that annotation.
func (r *specReader) readSettings(annotations map[string]string) {
	switch value, set := annotations[api.AnnotationProxyProtocol]; {
	case value == "true":
		r.Settings.ProxyProtocol = true
	case set && value != "false":
		r.strangeAnnotation(api.AnnotationProxyProtocol, value, `write "true" (each connection begins with a PROXY header) or "false"`)
	}
	switch value, set := annotations[api.AnnotationAccessLog]; {
	case value == string(ir.LogText), value == string(ir.LogOff):
		r.Settings.AccessLog = ir.AccessLog(value)
	case set && value != "json":
		r.strangeAnnotation(api.AnnotationAccessLog, value, `write json, text or "off"`)
	}
}

// strangeAnnotation adds a warning for an annotation with an unknown value. The annotation is ignored.
func (r *specReader) strangeAnnotation(name, value, hint string) {
	r.problem("InvalidValue", "metadata.annotations["+name+"]", fmt.Sprintf("%s: %q means nothing and is as if it were not there", name, value), hint)
	r.Problems[len(r.Problems)-1].Severity = manifest.Warning
}
