package engine

import (
	"strings"
	"sync/atomic"

	"github.com/gatefold/gatefold/store/tenancy"
)

// units says which files wait for each other (watcher.Options.Unit) under path policies: those that belong to the same
// namespaces. The files of --cluster-paths are one unit, and so are those that belong to nobody. The watcher asks while
// the pipeline changes the policies.
type units struct {
	owners atomic.Pointer[tenancy.Owners]
}

// platformUnit is the unit of the files of --cluster-paths. No namespace has this name.
const platformUnit = "/"

// unit returns the unit of a file. Without path policies, all files are one unit with those of --cluster-paths.
func (u *units) unit(path string) string {
	if u.owners.Load() == nil {
		return platformUnit
	}
	return u.of(path)
}

// of returns the unit of a file. It returns "" while the policies are not known.
func (u *units) of(path string) string {
	owners := u.owners.Load()
	switch {
	case owners == nil:
		return ""
	case owners.Cluster(path):
		return platformUnit
	}
	return strings.Join(owners.Of(path), " ")
}
