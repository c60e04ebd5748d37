package importer

import (
	"fmt"
	"slices"
	"strings"
)

// controllerSettings leaves out a ConfigMap with the settings of ingress-nginx for all Ingresses, because import
// does not apply these settings. It recognizes the ConfigMap by its name or label, or by a setting that may protect
// requests (see protectsAll). Each such protecting setting also blocks the import, so that no file is written.
// controllerSettings does nothing for any other ConfigMap, or for a ConfigMap that the user named in --accept (see
// acceptance).
func controllerSettings(r *report, accept *acceptance, object *item) {
	data, _ := object.fields["data"].(map[string]any)
	var protecting []string
	for _, key := range sortedKeys(data) {
		if protectsAll(key, strings.TrimSpace(fmt.Sprint(data[key]))) {
			protecting = append(protecting, key)
		}
	}
	labels := at(object.fields, "metadata", "labels")
	known := object.key.Name == "ingress-nginx-controller" || object.key.Name == "nginx-configuration" || text(at(labels, "app.kubernetes.io/name")) == "ingress-nginx"
	if !known && len(protecting) == 0 || accept.contains(object.name()) {
		return
	}
	object.left = true
	for _, key := range protecting {
		field := join("data", key)
		r.block(object.place, object.name(), "ingress-nginx has this setting for all Ingresses, and import does not read it",
			"write it as a TrafficPolicy of the Gateway ingress/ingress, and leave it out with --accept "+object.name()+"/"+field, field)
	}
	r.add(Different, object.place, object.name(), "left out: settings of ingress-nginx for all Ingresses are not read; look at them")
}

// protectsAll reports whether a setting in the ConfigMap of ingress-nginx may restrict the requests to all
// Ingresses. The result is false if the value is empty or false.
func protectsAll(key, value string) bool {
	if on, ok := boolean(value); value == "" || ok && !on {
		return false
	}
	return strings.HasPrefix(key, "global-auth-") || slices.Contains([]string{
		"main-snippet", "http-snippet", "server-snippet", "location-snippet", "modsecurity-snippet",
		"whitelist-source-range", "denylist-source-range", "block-cidrs", "block-user-agents", "block-referers",
		"enable-modsecurity", "enable-owasp-modsecurity-crs", "force-ssl-redirect", "disable-catch-all", "limit-connections", "limit-rps",
	}, key)
}
