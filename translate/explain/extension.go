package explain

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// unless tells what of a rule's policies may change what is done, and cannot be known
// here: what services answer, and what came before.
func unless(extras *ir.Extras) []string {
	if extras == nil {
		return nil
	}
	var all []string
	if auth := extras.ExtAuth; auth != nil && auth.Extension.Auth.Percent > 0 {
		all = append(all, "extAuth: "+auth.Extension.Service.Cluster+" denies it")
	}
	if limit := extras.RateLimit; limit != nil && limit.Enabled > 0 && limit.Enforced > 0 {
		all = append(all, "rateLimit.local: too many requests came before (429)")
	}
	if limit := extras.GlobalLimit; limit != nil {
		all = append(all, "rateLimit.global: "+limit.Extension.Service.Cluster+" counts too many requests (429)")
	}
	if proc := extras.ExtProc; proc != nil {
		all = append(all, "extProc: "+proc.Extension.Service.Cluster+" changes it, or answers by itself")
	}
	return all
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
	return ""
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
