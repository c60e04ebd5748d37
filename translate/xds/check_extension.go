package xds

import (
	"fmt"
	"net/http"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// CheckExtension returns what Envoy would reject in a GatewayExtension of any kind except jwt. The problems
// name fields of the GatewayExtension.
func CheckExtension(key manifest.Key, e *ir.Extension) []manifest.Problem {
	c := checker{rule: &ir.Rule{Source: &ir.Origin{Key: key}}}
	use := ir.ExtensionUse{Extension: e}
	extras := &ir.Extras{}
	switch {
	case e.Auth != nil:
		extras.ExtAuth = &ir.ExtAuth{ExtensionUse: use}
		c.authStatus("spec.extAuth.statusOnError", e.Auth.StatusOnError)
		c.checkHTTPAuth(extensionFields(), e.Auth)
	case e.Processor != nil:
		extras.ExtProc = &ir.ExtProc{ExtensionUse: use}
		c.processingMode("spec.extProc.processingMode", e.Processor.Mode)
	case e.SignIn != nil:
		extras.OAuth2 = &ir.OAuth2{ExtensionUse: use}
		c.signIn(e.SignIn)
	default:
		extras.GlobalLimit = &ir.GlobalLimit{ExtensionUse: use}
		c.text("spec.rateLimit.domain", e.Limiter.Domain)
	}
	if len(c.problems) == 0 {
		c.messages(extras)
	}
	return c.problems
}

// authStatus rejects a status that Envoy cannot answer with.
func (c *checker) authStatus(field string, status uint32) {
	if _, known := typev3.StatusCode_name[int32(status)]; !known || status < http.StatusOK {
		c.reject(field, fmt.Sprintf("Envoy cannot answer with status %d", status), "take a usual one, such as 403 or 503")
	}
}
