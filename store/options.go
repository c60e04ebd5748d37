package store

import (
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/tenancy"
)

// Options configure a Store.
type Options struct {
	// KeepNothing makes every Tree count as the first Tree. Then no last valid version is served. Of several
	// definitions of a key, the first definition is served.
	KeepNothing bool
	// Save makes the Store record which objects changed, so that Unsaved returns them. SaveSecrets includes the
	// content of Secrets, and of policies with users and password hashes.
	Save, SaveSecrets bool
	// ClusterPaths are the files of the platform team. Only these files may define cluster-scoped objects, and
	// they may open every port. If ClusterPaths has patterns, path policies apply (package tenancy). nil means
	// no path policies.
	ClusterPaths tenancy.Globs
	// PathPrefix is put before the path of a file in a message.
	PathPrefix string
	// Kgateway, if not nil, makes the Store report what gatefold takes and this version of kgateway does not.
	Kgateway *schema.Kgateway
	// Limits limit what is read. Zero fields mean the defaults.
	Limits Limits
	// Progress, if not nil, is called while Apply, ApplyUntil or Restore reads documents. The first argument is the
	// number of documents that are read, and the second argument is the number of all documents. The first argument
	// is 1 in the first call. In the last call it is equal to the second argument, unless ApplyUntil ends before all
	// documents are read. Calls do not overlap.
	Progress func(done, of int)
}

// Limits limit a Tree (docs/design/safety.md). Each document also has limits for depth, aliases and number of
// values.
type Limits struct {
	Documents int // of one file; 20,000 by default
	Objects   int // of a Tree; 500,000 by default
}
