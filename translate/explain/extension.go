package explain

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// unlessForged returns what Envoy's CSRF filter does with a share of the requests alone. The
// filter comes before the buffer and before all services.
func unlessForged(csrf *ir.CSRF, r *request) []string {
	switch {
	case csrf == nil || !forged(csrf, r):
	case csrf.Enabled > 0 && csrf.Enabled < 100:
		return []string{fmt.Sprintf("csrf: it is one of the %d%% that are rejected (403): %s", csrf.Enabled, forgedWords(r))}
	case csrf.Enabled == 0 && csrf.Shadowed > 0 && csrf.Shadowed < 100: // Envoy draws twice, and rejects where the second says no
		return []string{fmt.Sprintf("csrf: Envoy rejects some of the requests that it only is to check where that is %d%% (403): %s", csrf.Shadowed, forgedWords(r))}
	}
	return nil
}

// extensionWords say what a field does that needs a service.
func extensionWords(field string, extras *ir.Extras) string {
	switch {
	case field == "extAuth" && extras.ExtAuth != nil:
		return authWords(extras.ExtAuth)
	case field == "extProc" && extras.ExtProc != nil:
		service := extras.ExtProc.Extension
		return fmt.Sprintf("%s sees and changes requests and answers; %s", service.Service.Cluster,
			outageWords(service.Processor.FailOpen, http.StatusInternalServerError))
	case field == "rateLimit.global" && extras.GlobalLimit != nil:
		service := extras.GlobalLimit.Extension
		return fmt.Sprintf("%s counts requests by %s; %s", service.Service.Cluster, descriptorWords(extras.GlobalLimit.Descriptors),
			outageWords(service.Limiter.FailOpen, http.StatusInternalServerError))
	case field == "extAuth", field == "extProc":
		return "turned off"
	}
	return fieldWords(field, extras)
}

// fieldWords say what the fields do that change the request or choose an endpoint.
func fieldWords(field string, extras *ir.Extras) string {
	switch field {
	case "csrf":
		return csrfWords(extras.CSRF)
	case "transformation":
		return transformationWords(extras)
	case "autoHostRewrite":
		if extras.AutoHost {
			return "the host becomes the DNS name of the endpoint"
		}
		return "turned off"
	case "hashPolicies":
		return hashWords(extras.Hash)
	case "timeouts":
		return timeoutWords(&ir.Action{RequestTimeout: extras.RequestTimeout}, namedTimeout{"streamIdle", extras.IdleTimeout})
	case "buffer":
		return "turned off"
	}
	return ""
}

func csrfWords(csrf *ir.CSRF) string {
	if csrf == nil || csrf.Enabled+csrf.Shadowed == 0 {
		return "turned off"
	}
	words := "requests that change something from another origin are answered with 403"
	if len(csrf.Origins) > 0 {
		words += ", but for " + strings.Join(matchTexts(csrf.Origins), ", ")
	}
	switch {
	case csrf.Enabled == 0:
		words = shadowWords(csrf.Shadowed)
	case csrf.Enabled < 100:
		words = fmt.Sprintf("for %d%% of the requests: %s", csrf.Enabled, words)
	}
	return words
}

// shadowWords say what Envoy does where it only is to check a share of the requests: below
// 100% it rejects some all the same, as unless says of a request that can be one of them.
func shadowWords(percent uint32) string {
	if percent < 100 {
		return fmt.Sprintf("%d%% of the requests are only to be checked, but Envoy rejects some that come from another origin (403)", percent)
	}
	return "all requests are checked, and none is rejected"
}

func matchTexts(matches []ir.StringMatch) (out []string) {
	for _, m := range matches {
		out = append(out, m.Value)
	}
	return out
}

func transformationWords(extras *ir.Extras) string {
	var words []string
	for _, side := range []struct {
		prefix  string
		changes []ir.HeaderChange
	}{{"", extras.Request}, {"in answers ", extras.Response}} {
		for _, change := range side.changes {
			verb := map[ir.ChangeKind]string{ir.SetHeader: "set ", ir.AddHeader: "add ", ir.RemoveHeader: "remove "}[change.Kind]
			words = append(words, side.prefix+verb+change.Name)
		}
	}
	return strings.Join(words, ", ")
}

func hashWords(hashes []ir.Hash) string {
	var words []string
	for _, hash := range hashes {
		switch {
		case hash.Header != "":
			words = append(words, "header "+hash.Header)
		case hash.Cookie != nil:
			words = append(words, "cookie "+hash.Cookie.Name)
		case hash.SourceIP:
			words = append(words, "client address")
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "the endpoint follows from " + strings.Join(words, ", ")
}

func authWords(auth *ir.ExtAuth) string {
	service := auth.Extension
	share := "a request"
	if service.Auth.Percent < 100 {
		share = fmt.Sprintf("%d%% of the requests", service.Auth.Percent)
	}
	return fmt.Sprintf("%s is asked whether %s may pass; %s", service.Service.Cluster, share,
		outageWords(service.Auth.FailOpen, service.Auth.StatusOnError))
}

// outageWords say what happens while a service does not answer.
func outageWords(open bool, status uint32) string {
	if open {
		return "requests pass while it does not answer"
	}
	return fmt.Sprintf("%d while it does not answer", status)
}

func descriptorWords(descriptors [][]ir.LimitEntry) string {
	var all []string
	for _, descriptor := range descriptors {
		var entries []string
		for _, entry := range descriptor {
			switch {
			case entry.Address:
				entries = append(entries, "client address")
			case entry.Header == ":path":
				entries = append(entries, "path")
			case entry.Header != "":
				entries = append(entries, "header "+entry.Header)
			default:
				entries = append(entries, entry.Key+"="+entry.Value)
			}
		}
		all = append(all, strings.Join(entries, " and "))
	}
	return strings.Join(all, ", by ")
}
