package store

import (
	"cmp"

	"github.com/gatefold/gatefold/store/manifest"
)

// The codes of the problems because of which freezeForPolicies freezes the folder. freezeForFlag uses the code
// clusterPathsMissing instead.
const (
	clusterPathsBroken = "ClusterPathsBroken"
	namespacesMissing  = "NamespacesMissing"
)

// freezeForPolicies reports in the result held whether a Tree must not be applied because its path policies are not
// known. If held is true, p is the problem. A path policy says which files may define the objects of a namespace. It
// is an annotation of a Namespace, and counts only in cluster paths, the files that the flag --cluster-paths names.
// The parameter next has the counts of the Tree. held is true in two cases:
//   - Nothing is served yet (servesNothing), and a file or document of the cluster paths cannot be read. It may
//     define a Namespace (tally.hidden), whose path policy would then be missing.
//   - All files of the cluster paths can be read, but they define no Namespace. The Tree has objects nevertheless,
//     and AllowEmpty was not called.
//
// If no path policies apply, freezeForPolicies returns the results of freezeForFlag.
func (s *Store) freezeForPolicies(root string, edits []edit, next tally) (p manifest.Problem, held bool) {
	if !s.fence.policy.InForce() {
		return s.freezeForFlag(edits, next)
	}
	switch {
	case s.servesNothing() && next.hidden > 0:
		file := hiding(edits)
		return manifest.Problem{
			Code: clusterPathsBroken, Severity: manifest.Error, File: file,
			Message: "gatefold cannot read all Namespaces of --cluster-paths, and serves nothing yet: without their path policies, teams could define objects of others",
			Hint:    "fix the errors of " + cmp.Or(file, "the folder"),
		}, true
	case next.namespaces == 0 && next.hidden == 0 && next.objects > 0 && !s.allowEmpty:
		return manifest.Problem{
			Code: namespacesMissing, Severity: manifest.Error, File: root,
			Message: "no file of --cluster-paths defines a Namespace, and gatefold serves objects of declared namespaces only; it still serves the last valid folder",
			Hint:    "define a Namespace for each namespace of the folder, default included, or run `gatefold reload --allow-empty` to serve nothing",
		}, true
	}
	return manifest.Problem{}, false
}

// freezeForFlag returns true and a problem if the flag --cluster-paths seems to be forgotten. This is the case if
// the Tree has a Namespace with the annotation for paths, and at least one of these conditions holds:
//   - gatefold serves nothing yet (servesNothing).
//   - gatefold already serves this Namespace with the annotation for paths.
//
// The parameter next has the counts of the Tree.
func (s *Store) freezeForFlag(edits []edit, next tally) (p manifest.Problem, held bool) {
	if next.fences == 0 {
		return manifest.Problem{}, false
	}
	d := s.sources.firstFence(edits, func(key manifest.Key) bool {
		at, serves := s.serving.served[key]
		return s.servesNothing() || serves && grantOf(at.object).Restricts()
	})
	if d == nil {
		return manifest.Problem{}, false
	}
	return manifest.Problem{
		Code: clusterPathsMissing, Severity: manifest.Error, Field: "metadata.annotations",
		File: d.file.path, Line: d.line(), Column: d.place.column, Object: d.object.Key,
		Message: "the Namespace has annotations of path policies, and gatefold runs without --cluster-paths: any file may define Namespaces; what served before is still served",
		Hint:    "start gatefold with --cluster-paths, the files that may define Namespaces and GatewayClasses; or remove the annotations",
	}, true
}

// servesNothing reports whether the next Tree is treated as the first Tree, because there are no served objects to
// keep. This is so if nothing is served, or if Options.KeepNothing is set.
func (s *Store) servesNothing() bool { return len(s.serving.served) == 0 || s.options.KeepNothing }

// hiding returns the path of an edited file that may define a Namespace in a part that cannot be read (see
// tally.hidden). Of several such files, it returns the first by path. It returns "" if there is no such file.
func hiding(edits []edit) (first string) {
	for _, e := range edits {
		if e.after != nil && e.after.tally.hidden > 0 && (first == "" || e.path < first) {
			first = e.path
		}
	}
	return first
}
