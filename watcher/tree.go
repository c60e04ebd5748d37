// Package watcher reads a folder into Trees, and watches it for changes. It handles files, links and time. It
// does not parse YAML: package store does.
package watcher

import "time"

// Hash is a SHA-256 sum.
type Hash [32]byte

// Tree is one consistent reading of the folder. It is immutable, sorted, and limited by
// Options.Limits.
type Tree struct {
	// Root is the folder as the user named it.
	Root string
	// Revision is the last element of the path that Root leads to, if Root is a symbolic link. git-sync puts its
	// revision there. Otherwise it is "".
	Revision string
	// Files are the files that were read.
	Files Files
	// Skipped are the files and directories that should have been read and were not, sorted by Path. A skipped file
	// does not count as deleted: its objects stay.
	Skipped []Skip
	// Missing is true if Root does not exist or is not a directory. It is also true if Root cannot be read and no
	// contents are known.
	Missing bool
	// Scan is how long listing and reading took.
	Scan time.Duration
	// Noticed is when the first difference from the previous Tree was seen.
	Noticed time.Time
}

// File is one file of a Tree.
type File struct {
	// Path is relative to the root, slash separated.
	Path string
	// Content is shared between Trees and must not be changed.
	Content []byte
	// Hash is the hash of Content.
	Hash Hash
}

// Skip names a file or directory that was not read, and why.
type Skip struct {
	Path   string
	Reason SkipReason
	// Detail is a sentence for the user: figures, or the error of the system. It is "" if the reason says enough,
	// or if another Skip has the sentence for several files.
	Detail string
}

// SkipReason is why a file or directory was not read.
type SkipReason string

// The reasons for a Skip.
const (
	TooLarge     SkipReason = "FileTooLarge"   // larger than Limits.FileBytes
	TreeTooLarge SkipReason = "TreeTooLarge"   // the Tree's bytes, files, directories or depth would exceed Limits
	BeingWritten SkipReason = "BeingWritten"   // a program has it open for writing, and no content is known
	NotRegular   SkipReason = "NotRegularFile" // FIFO, socket, device, directory named x.yaml
	LeavesRoot   SkipReason = "LinkLeavesRoot" // a symbolic link that leaves the root or is absolute
	Replaced     SkipReason = "FileReplaced"   // it is mounted by itself, and the mounted file was deleted or replaced
	Unreadable   SkipReason = "Unreadable"     // it cannot be read, for example because of an error of the system
	// ReadElsewhere is the reason for a symbolic link to a file or directory that is read by another path. It differs from
	// the others: nothing is missing, and what was read by the link before counts as deleted.
	ReadElsewhere SkipReason = "ReadElsewhere"
)
