package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// PluginAnnotation is the annotation by which a route or a Service names the KongPlugins that apply to it.
const PluginAnnotation = "konghq.com/plugins"

// The kinds of the plugins of Kong. A KongClusterPlugin has no namespace.
const (
	groupKong         = "configuration.konghq.com"
	kindPlugin        = "KongPlugin"
	kindClusterPlugin = "KongClusterPlugin"
)

// maxPlugins is how many KongPlugins of one object are read.
const maxPlugins = 64

// Plugins returns the plugins that an object may name in PluginAnnotation: names, or NAMESPACE:NAME, separated by commas. A
// name alone may be that of a KongPlugin or KongClusterPlugin.
func Plugins(o *manifest.Object) (all []manifest.Key) {
	text := o.Value.GetAnnotations()[PluginAnnotation]
	if text == "" {
		return nil
	}
	for name := range strings.SplitSeq(text, ",") {
		namespace, name, other := strings.Cut(strings.TrimSpace(name), ":")
		if !other {
			namespace, name = o.Key.Namespace, namespace
		}
		if name = strings.TrimSpace(name); name == "" || len(all) >= maxPlugins {
			continue
		}
		all = append(all, manifest.Key{Group: groupKong, Kind: kindPlugin, Namespace: strings.TrimSpace(namespace), Name: name})
		if !other {
			all = append(all, manifest.Key{Group: groupKong, Kind: kindClusterPlugin, Name: name})
		}
	}
	return all
}

// closePlugin records a plugin that may protect, because the objects that name it must answer 500. A plugin that only
// writes logs or metrics protects nothing.
func (d *documentReader) closePlugin(at fieldPath, gk apischema.GroupKind, object map[string]any) {
	harmless := []string{"prometheus", "file-log", "http-log", "tcp-log", "udp-log", "syslog", "loggly", "datadog", "statsd", "zipkin", "opentelemetry", "correlation-id"}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if gk.Group != groupKong || gk.Kind != kindPlugin && gk.Kind != kindClusterPlugin || slices.Contains(harmless, textOf(object["plugin"])) || annotations[schema.IgnoreAnnotation] == "true" {
		return
	}
	namespace := ""
	if gk.Kind == kindPlugin {
		namespace = cmp.Or(writtenFor(d.written(at), "namespace"), metav1.NamespaceDefault)
	}
	of := unservedPolicy(object, namespace, nil).Policy
	if len(validation.IsDNS1123Subdomain(of.Name)) > 0 || namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return
	}
	d.rejected = append(d.rejected, rejectedObject{key: of, place: d.nameAt(at), invalid: &Invalid{
		Key: of, Unserved: true, Mistakes: []Mistake{{Field: "kind", Message: fmt.Sprintf("Kong has the kind %s, which gatefold does not serve", gk.Kind)}},
	}})
}
