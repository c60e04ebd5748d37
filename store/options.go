package store

import "github.com/gatefold/gatefold/store/tenancy"

// Options configure a Store.
type Options struct {
	// Strict applies no Tree that has an invalid document or an unread file. Otherwise only the
	// objects with mistakes keep their last valid version.
	Strict bool
	// KeepNothing makes every Tree count as the first one: of an object without a valid version
	// nothing is served, and the first of several definitions of a key is.
	KeepNothing bool
	// Save makes the Store record what must be saved, for Unsaved; SaveSecrets includes the
	// content of Secrets.
	Save, SaveSecrets bool
	// ClusterPaths are the files that may define cluster-scoped objects and open ports. They
	// turn path policies on; nil means all files, without path policies.
	ClusterPaths tenancy.Globs
	// PathPrefix is put before the path of a file that a message names.
	PathPrefix string
	// Limits limit what is read; zero fields mean the defaults.
	Limits Limits
	// Progress, if set, is called now and then with how many of the documents of an Apply or a
	// Restore are read: first with 1, and at the end with all. Calls do not overlap.
	Progress func(done, of int)
}

// Limits limit a Tree (docs/design/safety.md). Each document is limited as well: in depth,
// aliases and number of values.
type Limits struct {
	Documents int // of one file; 20,000 by default
	Objects   int // of a Tree; 500,000 by default
}
