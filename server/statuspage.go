package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// statusList is a v1 List, as kubectl prints it.
type statusList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []ObjectStatus `json:"items"`
}

// StatusFilter picks objects by kind, namespace and name; zero fields pick all.
type StatusFilter struct {
	Kind            store.KindName
	Namespace, Name string
}

// Picks reports whether the filter picks the object of this key.
func (f StatusFilter) Picks(key manifest.Key) bool {
	kind := f.Kind.Kind == "" || f.Kind.Kind == key.Kind && f.Kind.Group == key.Group
	return kind && (f.Namespace == "" || f.Namespace == key.Namespace) && (f.Name == "" || f.Name == key.Name)
}

// Key is the one object that the filter names.
func (f StatusFilter) Key() manifest.Key {
	return manifest.Key{Group: f.Kind.Group, Kind: f.Kind.Kind, Namespace: f.Namespace, Name: f.Name}
}

// Path is the admin page of what the filter picks.
func (f StatusFilter) Path() string {
	path := "/api/v1/status"
	if f.Kind.Kind != "" {
		path += "/" + f.Kind.Kind + "." + f.Kind.Group
	}
	switch {
	case f.Name != "" && f.Namespace != "":
		return path + "/" + url.PathEscape(f.Namespace) + "/" + url.PathEscape(f.Name)
	case f.Name != "":
		return path + "/" + url.PathEscape(f.Name)
	case f.Namespace != "":
		return path + "?namespace=" + url.QueryEscape(f.Namespace)
	}
	return path
}

// NewStatusFilter makes a filter of a user's words, each of which may be "". The error says
// which is unknown, or does not go with another.
func NewStatusFilter(kind, namespace, name string) (f StatusFilter, err error) {
	f = StatusFilter{Namespace: namespace, Name: name}
	if kind == "" {
		return f, nil
	}
	found, like, ok := store.FindKind(strings.TrimSuffix(kind, "."))
	switch {
	case !ok && like != "":
		return f, fmt.Errorf("unknown kind %q (did you mean %s?)", kind, like)
	case !ok:
		return f, fmt.Errorf("unknown kind %q: gatefold reads no objects of it", kind)
	case found.ClusterScoped && namespace != "":
		return f, fmt.Errorf("%s has no namespaces", found.Kind)
	case !found.ClusterScoped && namespace == "" && name != "":
		return f, fmt.Errorf("%s %s needs a namespace: NAMESPACE/%s", found.Kind, name, name)
	}
	f.Kind = found
	return f, nil
}

// statusPage lists the objects that the path and ?namespace= name. It answers 400 to an
// unknown kind or query, and 404 to an object that gatefold reports nothing of.
func (s *Server) statusPage(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r, "namespace") {
		return
	}
	kind, namespace, name := r.PathValue("kind"), r.PathValue("namespace"), r.PathValue("name")
	if asked := r.URL.Query().Get("namespace"); asked != "" && namespace == "" {
		namespace = asked
	}
	filter, err := NewStatusFilter(kind, namespace, name)
	if err != nil {
		answer(w, http.StatusBadRequest, word{Error: err.Error()})
		return
	}
	list := s.statuses(filter.Picks)
	if name != "" && len(list.Items) == 0 {
		answer(w, http.StatusNotFound, word{Error: s.nothingOf(filter)})
		return
	}
	answer(w, http.StatusOK, list)
}

// onlyQuery answers 400 to a query that has other names than these: a filter that is
// misspelt must not show everything.
func onlyQuery(w http.ResponseWriter, r *http.Request, names ...string) (ok bool) {
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if slices.Contains(names, name) {
			continue
		}
		message := fmt.Sprintf("unknown query parameter %q", name)
		if like := manifest.Nearest(name, names); like != "" {
			message += fmt.Sprintf(" (did you mean %s?)", like)
		}
		answer(w, http.StatusBadRequest, word{Error: message})
		return false
	}
	return true
}

// nothingOf says that there is no status of the object that a filter names.
func (s *Server) nothingOf(filter StatusFilter) string {
	var same, names []string
	hasStatus := false
	s.locked(func() {
		for key := range s.board.keys() {
			hasStatus = hasStatus || key.Kind == filter.Kind.Kind
			switch {
			case key.Kind != filter.Kind.Kind || key.Group != filter.Kind.Group:
			case key.Name == filter.Name:
				same = append(same, key.Namespace+"/"+key.Name)
			case key.Namespace == filter.Namespace:
				names = append(names, key.Name)
			}
		}
	})
	message := "there is no " + filter.Key().String()
	if !hasStatus {
		message += ", or its kind has no status"
	}
	like := manifest.Nearest(filter.Name, slices.Sorted(slices.Values(names)))
	switch {
	case len(same) > 0:
		return message + " (did you mean " + slices.Min(same) + "?)"
	case like != "" && filter.Namespace != "":
		return message + " (did you mean " + filter.Namespace + "/" + like + "?)"
	case like != "":
		return message + " (did you mean " + like + "?)"
	}
	return message
}

// statuses lists the objects that want names, sorted by key.
func (s *Server) statuses(want func(manifest.Key) bool) statusList {
	seen := map[manifest.Key]sight{}
	s.locked(func() {
		s.refresh()
		for key := range s.board.keys() {
			if want(key) {
				seen[key], _ = s.board.sees(key)
			}
		}
	})
	items := make([]ObjectStatus, 0, len(seen))
	for _, key := range slices.SortedFunc(maps.Keys(seen), manifest.CompareKeys) {
		items = append(items, seen[key].at(key))
	}
	return statusList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}
}

// problemList is the page /api/v1/problems.
type problemList struct {
	// Unloaded says that nothing has been loaded yet, and how many Envoys wait for it.
	Unloaded string `json:"unloaded,omitempty"`
	// Hold says why the folder is frozen, and what to do.
	Hold string `json:"hold,omitempty"`
	// Busy says which step has been under way for long, and what that means.
	Busy string `json:"busy,omitempty"`
	// State says why what serves cannot be saved for a restart.
	State    string             `json:"state,omitempty"`
	Problems []manifest.Problem `json:"problems"`
}

// problemsPage lists the problems, with ?namespace= those of its objects.
func (s *Server) problemsPage(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r, "namespace") {
		return
	}
	var list problemList
	s.locked(func() { list = problemList{Hold: s.hold, State: s.unsaved, Problems: s.problems} })
	list.Unloaded, list.Busy = s.unloaded(), s.busy().words()
	if namespace := r.URL.Query().Get("namespace"); namespace != "" {
		list.Problems = slices.DeleteFunc(slices.Clone(list.Problems), func(p manifest.Problem) bool { return p.Object.Namespace != namespace })
	}
	if list.Problems == nil {
		list.Problems = []manifest.Problem{}
	}
	answer(w, http.StatusOK, list)
}
