package importer

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// readAppRoot sets s.appRoot to the path of the annotation app-root. ingress-nginx ignores a value that is no path,
// such as an absolute URL: s.appRoot then stays "". If import cannot express the path, class is Refused, and message is
// the reason.
func (s *settings) readAppRoot(value string) (class Class, message string) {
	target, err := url.ParseRequestURI(value)
	switch {
	case err != nil || target.IsAbs():
		return Same, "ignored, as by ingress-nginx: it is no path"
	case !plainPath.MatchString(value) || strings.Contains(value, "$"):
		return Refused, "it is no plain path"
	}
	s.appRoot = value
	return Same, "a redirect of /"
}

// readForwardedPrefix sets the header X-Forwarded-Prefix from the annotation x-forwarded-prefix. ingress-nginx sends it
// only where rewrite-target changes the path.
func (s *settings) readForwardedPrefix(value string) (class Class, message string) {
	switch {
	case s.values["rewrite-target"] == "":
		return Same, "ignored, as by ingress-nginx without rewrite-target"
	case strings.ContainsAny(value, "$\r\n\x00") || value == "" || len(value) > 4000:
		return Different, "left out: it has variables of nginx, and the backend does not receive X-Forwarded-Prefix"
	}
	s.prefix = value
	return Same, "the header X-Forwarded-Prefix of rewritten requests"
}

// readRedirects reads one of the annotations for redirects. If an Ingress has both, ingress-nginx takes
// temporal-redirect. If import cannot express the redirect, class is Refused, and message is the reason.
func (s *settings) readRedirects(key, value string) (class Class, message string) {
	of, isCode := strings.CutSuffix(key, "-code")
	switch {
	case isCode && s.values[of] == "":
		return Same, "ignored, as by ingress-nginx without " + of
	case of == "permanent-redirect" && s.values["temporal-redirect"] != "":
		return Same, "ignored, as by ingress-nginx: temporal-redirect comes first"
	case isCode:
		return Same, "the code of the redirect"
	case value == "":
		return Same, "ignored, as by ingress-nginx: it is empty"
	case !s.readRedirect(key, value):
		return Refused, "it is no plain URL, or has a code that cannot be expressed"
	}
	return Different, "a redirect; it keeps the query"
}

// readRedirect sets s.redirect to the redirect of an annotation. The parameter key is permanent-redirect or
// temporal-redirect, and value is the URL. readRedirect returns false, and sets nothing, if import cannot express
// the redirect.
func (s *settings) readRedirect(key, value string) bool {
	target, err := url.Parse(value)
	if err != nil || strings.ContainsAny(value, "$ ") || target.RawQuery != "" || target.Fragment != "" || target.User != nil {
		return false
	}
	code := map[string]int64{"permanent-redirect": 301, "temporal-redirect": 302}[key]
	if other := s.values[key+"-code"]; other != "" {
		number, _ := strconv.ParseInt(other, 10, 64)
		code = number
	}
	if !slices.Contains([]int64{301, 302, 303, 307, 308}, code) {
		return false
	}
	r := map[string]any{"statusCode": code}
	if target.Host != "" {
		if target.Scheme != "http" && target.Scheme != "https" || len(validation.IsDNS1123Subdomain(target.Hostname())) > 0 {
			return false
		}
		r["scheme"], r["hostname"] = target.Scheme, target.Hostname()
		port := map[string]int64{"http": 80, "https": 443}[target.Scheme]
		if number, err := strconv.ParseInt(target.Port(), 10, 32); err == nil {
			port = number
		}
		r["port"] = port
	}
	r["path"] = map[string]any{"type": "ReplaceFullPath", "replaceFullPath": cmp.Or(target.EscapedPath(), "/")}
	s.redirect = r
	return true
}
