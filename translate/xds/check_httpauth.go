package xds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// authFields are the paths of the fields that an ir.AuthService is read from. A path is "" if the object has no such
// field.
type authFields struct {
	prefix, sent, added, toBackend, toClient, onSuccess string
}

// extensionFields returns the paths of the fields in a GatewayExtension with httpService.
func extensionFields() authFields {
	const at = "spec.extAuth.httpService"
	return authFields{
		prefix: at + ".pathPrefix", sent: "spec.extAuth.headersToForward", added: at + ".authorizationRequest.headersToAdd",
		toBackend: at + ".authorizationResponse.headersToBackend", toClient: at + ".authorizationResponse.headersToClient",
		onSuccess: at + ".authorizationResponse.headersToClientOnSuccess",
	}
}

// filterFields returns the paths of the fields in the filter ExternalAuth that applies to a rule. Each path begins
// with the path of that filter. If the filter belongs to a parent route instead of the rule's own route, each path
// begins with the parameter filters, which is the path of the rule's list of filters.
func filterFields(rule *ir.Rule, action *ir.Action, filters string) authFields {
	at := filters
	for _, part := range action.Parts {
		if part.Kind == ir.PartExternalAuth && part.Object == rule.Source.Key {
			at = part.Field
		}
	}
	if at += ".externalAuth.http"; action.ExternalAuth.Extension.Auth.HTTP == nil {
		return authFields{sent: strings.TrimSuffix(at, "http") + "grpc.allowedHeaders"}
	}
	return authFields{prefix: at + ".path", sent: at + ".allowedHeaders", toBackend: at + ".allowedResponseHeaders"}
}

// checkHTTPAuth rejects what Envoy would reject in an authorization service. It also rejects what would let a
// client or an HTTP service change more than ordinary headers. The parameter fields has the paths for the problems.
// For a gRPC service, checkHTTPAuth checks only the length of header names.
func (c *checker) checkHTTPAuth(fields authFields, auth *ir.AuthService) {
	http := auth.HTTP
	for _, name := range auth.Headers {
		c.nameLength(fields.sent, name)
	}
	if http == nil {
		return
	}
	c.authPrefix(fields.prefix, http.Prefix)
	for _, name := range auth.Headers {
		c.sentName(fields.sent, name)
	}
	for _, header := range http.Add {
		field := fmt.Sprintf("%s[%s]", fields.added, header.Name)
		c.changedName(field, header.Name, false)
		c.headerValue(field, header.Value)
		if fault := formatFault(header.Value); fault != "" {
			c.reject(field, fault, "write %REQ(NAME)%, %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%, %PROTOCOL%, or %% for a percent sign")
		}
	}
	for _, name := range http.ToBackend {
		c.nameLength(fields.toBackend, name)
		c.changedName(fields.toBackend, name, false)
		if auth.Receives(name) && strings.Contains(name, "%") {
			c.reject(fields.toBackend, fmt.Sprintf("header %q is sent to the service and copied back, and has a percent sign in its name", manifest.Shorten(name)), "use another name")
		}
	}
	for _, name := range http.ToClient {
		c.changedName(fields.toClient, name, false)
	}
	for _, name := range http.OnSuccess {
		c.changedName(fields.onSuccess, name, false)
	}
}

// authPrefix checks the path prefix of an authorization service. It rejects an invalid text, and a prefix that does
// not begin with a slash, or that has a query, a fragment or dot segments. It accepts "".
func (c *checker) authPrefix(field, prefix string) {
	if prefix == "" {
		return
	}
	c.text(field, prefix)
	step := func(segment string) bool {
		dots := strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
		return dots == "." || dots == ".."
	}
	switch {
	case !strings.HasPrefix(prefix, "/"):
		c.reject(field, fmt.Sprintf("path %q does not begin with a slash", manifest.Shorten(prefix)), `write "/" in front`)
	case strings.ContainsAny(prefix, "?#"):
		c.reject(field, fmt.Sprintf("path %q contains a query or fragment", manifest.Shorten(prefix)), "remove it")
	case slices.ContainsFunc(strings.Split(prefix, "/"), step):
		c.reject(field, fmt.Sprintf("path %q has a step . or ..", manifest.Shorten(prefix)), "write the path that it comes to")
	}
}

// maxHeaderName is the longest allowed name of a header, in bytes. The Gateway API has this limit for other
// lists of headers.
const maxHeaderName = 256

// nameLength rejects a header name that is too long. The filter ExternalAuth needs this check: the Gateway API
// limits how many names its lists have, but not how long each name is.
func (c *checker) nameLength(field, name string) {
	if len(name) > maxHeaderName {
		c.reject(field, fmt.Sprintf("the name of header %q is %d bytes long, over the limit of %d", manifest.Shorten(name), len(name), maxHeaderName), "shorten it")
	}
}

// sentName checks the name of a client's header that is to be copied into the request to an external service. It
// rejects an invalid name, a header that controls Envoy, and a header that changes where the body of the request
// ends. It accepts content-length, host, :authority, :method and :path. Envoy sets these in every such request,
// whether a policy names them or not.
func (c *checker) sentName(field, name string) {
	if slices.Contains([]string{"content-length", "host", ":authority", ":method", ":path"}, name) {
		return // always sent, with the request's own values
	}
	if isEnvoyHeader(name) {
		c.reject(field, fmt.Sprintf("header %q steers Envoy and cannot be sent to the service", manifest.Shorten(name)), "remove it from the list")
		return
	}
	c.changedName(field, name, false)
}

// envoyCommand matches a command of Envoy's format strings that a header for a service may contain. Other
// commands are rejected: some of them read files and the environment of Envoy.
var envoyCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^%(?:%|REQ\(:?[A-Za-z0-9_-]+(?:\?:?[A-Za-z0-9_-]+)?\)(?::[1-9][0-9]{0,4})?%|PROTOCOL%|REQUESTED_SERVER_NAME%|DOWNSTREAM_(?:DIRECT_)?REMOTE_ADDRESS(?:_WITHOUT_PORT)?%)`)
})

// formatFault returns why a format string must not be sent to Envoy. It returns "" if the string is allowed.
func formatFault(format string) string {
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			return ""
		}
		command := envoyCommand().FindString(format[i:])
		if command == "" {
			return fmt.Sprintf("%q begins no command that a header for the service may have", manifest.Shorten(format[i:]))
		}
		format = format[i+len(command):]
	}
}
