package adapter

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// served is the Kubernetes version that the adapter reports. It is the version of the libraries that check the
// objects.
const served = "1.36.1"

// discover answers requests for the served kinds, the version and the health. It returns false and writes no
// answer if r is another request.
func (a *Adapter) discover(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, apiversion.Info{Major: "1", Minor: "36", GitVersion: "v" + served})
	case r.URL.Path == "/healthz" || r.URL.Path == "/readyz":
		_, _ = w.Write([]byte("ok"))
	case len(parts) == 1 && parts[0] == "api":
		answer(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"},
		})
	case len(parts) == 1 && parts[0] == "apis":
		answer(w, http.StatusOK, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: a.groups(""),
		})
	case len(parts) == 2 && parts[0] == "api":
		answer(w, http.StatusOK, a.resourceList(schema.GroupVersion{Version: parts[1]}))
	case len(parts) == 2 && parts[0] == "apis" && len(a.groups(parts[1])) > 0:
		group := a.groups(parts[1])[0]
		group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		answer(w, http.StatusOK, group)
	case len(parts) == 3 && parts[0] == "apis":
		answer(w, http.StatusOK, a.resourceList(schema.GroupVersion{Group: parts[1], Version: parts[2]}))
	default:
		return false
	}
	return true
}

// groups returns the API groups without the core group, or only the group with this name if name is not "".
func (a *Adapter) groups(name string) []metav1.APIGroup {
	var groups []metav1.APIGroup
	for _, gv := range a.groupVersions() {
		if name != "" && gv.Group != name {
			continue
		}
		spoken := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		at := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if at < 0 {
			groups = append(groups, metav1.APIGroup{Name: gv.Group, PreferredVersion: spoken})
			at = len(groups) - 1
		}
		groups[at].Versions = append(groups[at].Versions, spoken)
	}
	return groups
}

// resourceList returns the kinds of one group and version.
func (a *Adapter) resourceList(gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	for _, r := range a.resources {
		if r.group != gv.Group || !slices.Contains(r.versions, gv.Version) {
			continue
		}
		verbs := metav1.Verbs{"get", "list", "create", "update", "patch", "delete"}
		if r.given {
			verbs = metav1.Verbs{"get", "list"}
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.plural, SingularName: r.singular, Namespaced: r.namespaced, Kind: r.kind, Verbs: verbs,
		})
		if r.checks != nil {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.plural + "/status", Namespaced: r.namespaced, Kind: r.kind, Verbs: metav1.Verbs{"get"},
			})
		}
	}
	return list
}

// newerFirst compares two versions by the order that clients prefer: v1, v1beta1, v1alpha2.
func newerFirst(x, y string) int { return -apiversion.CompareKubeAwareVersionStrings(x, y) }
