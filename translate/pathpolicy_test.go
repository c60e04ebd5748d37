package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate"
)

// newFenced makes a world with path policies: the files of platform/ are the platform's.
func newFenced(t testing.TB, options translate.Options) *world {
	t.Helper()
	return newWorldOn(newStore(t, store.Options{ClusterPaths: tenancy.Globs{"platform/**"}}), options)
}

// declared are Namespaces of the platform, with the ports of each, and after the word hosts its hostnames.
func declared(namespaces map[string]string) string {
	var text strings.Builder
	for name, ports := range namespaces {
		var list []string
		ports, hosts, _ := strings.Cut(ports, " hosts ")
		if ports != "" {
			list = append(list, fmt.Sprintf("gatefold.io/gateway-ports: %q", ports))
		}
		if hosts != "" {
			list = append(list, fmt.Sprintf("gatefold.io/hostnames: %q", hosts))
		}
		annotations := ""
		if list != nil {
			annotations = fmt.Sprintf(", annotations: {%s}", strings.Join(list, ", "))
		}
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s%s}\n", name, annotations)
	}
	return text.String()
}

// TestPathPoliciesIncrementally edits a folder under path policies at random, objects go
// from files of the platform to others and back, and compares with a cold rebuild.
func TestPathPoliciesIncrementally(t *testing.T) {
	served, first := 0, testsize.Seed(t)
	for seed := first; seed < first+uint64(testsize.Of(t, 2)); seed++ {
		r := rand.New(rand.NewPCG(seed, 11))
		w, files := newFenced(t, scoped(seed)), map[string]string{}
		spaces := map[string]string{"default": "80-90", "shop": ""}
		for i := range 90 {
			one := map[string]string{}
			randomEdit(r, one)
			for name, text := range one {
				here, there := pick(r, "platform/", "platform/", "team/"), pick(r, "platform/", "platform/", "team/")
				delete(files, here+name)
				delete(files, there+name)
				files[there+name] = text
			}
			spaces[pick(r, "default", "shop")] = pick(r, "", "80-90", "1-65535") + pick(r, "", "", " hosts *.example.com", " hosts a.example.com")
			files["platform/spaces.yaml"] = declared(spaces)
			if from := pick(r, "", "", "default", "shop", "other, default", "*"); from != "" {
				files["platform/spaces.yaml"] = strings.NewReplacer("{name: default, annotations: {", "{name: default, annotations: {gatefold.io/delegation-from: \""+from+"\", ",
					"{name: shop}", "{name: shop, annotations: {gatefold.io/delegation-from: \""+from+"\"}}").Replace(files["platform/spaces.yaml"])
			}
			if i < 40 {
				continue
			}
			w.apply(tree(files))
			w.checkCold(t)
			served = max(served, len(w.resources))
		}
	}
	if served < 4 {
		t.Errorf("only %d resources at best: the edits prove nothing", served)
	}
}

// TestExtensionsOfTeams lets policies use extensions of cluster paths, and no others: the
// service of a team could split answers to other users.
func TestExtensionsOfTeams(t *testing.T) {
	extension := func(namespace string) string {
		return fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: auth, namespace: %[1]s, annotations: {gatefold.io/used-by: shop}}
spec: {extAuth: {grpcService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: auth}}}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: auth, namespace: %[1]s}
spec: {type: Static, static: {hosts: [{host: 10.0.0.1, port: 80}]}}
`, namespace)
	}
	policy := func(of string) string {
		return fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: to-%[1]s, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  extAuth: {extensionRef: {name: auth, namespace: %[1]s}}
`, of)
	}
	w := newFenced(t, translate.Options{})
	files := map[string]string{
		"platform/n.yaml": declared(map[string]string{"infra": "", "shop": "", "blog": ""}), "platform/e.yaml": extension("infra"),
		"shop/e.yaml": extension("shop"), "blog/e.yaml": extension("blog"),
		"shop/p.yaml": policy("infra") + "---\n" + policy("shop") + "---\n" + policy("blog"),
	}
	var unusable []string
	for _, p := range w.apply(tree(files)) {
		if p.Code == "ExtensionNotUsable" || p.Code == "ExtensionNotAllowed" {
			unusable = append(unusable, p.Object.Name+" "+p.File)
		}
	}
	if fmt.Sprint(unusable) != "[auth blog/e.yaml auth shop/e.yaml to-shop shop/p.yaml to-blog shop/p.yaml]" {
		t.Error(unusable)
	}
	files["platform/blog.yaml"], files["platform/shop.yaml"] = files["blog/e.yaml"], files["shop/e.yaml"]
	delete(files, "blog/e.yaml")
	delete(files, "shop/e.yaml")
	for _, p := range w.apply(tree(files)) {
		if p.Code == "ExtensionNotUsable" || p.Code == "ExtensionNotAllowed" {
			t.Error(p)
		}
	}
	w.checkCold(t)
}
