package watcher

import "os"

// openForWriting tells nothing: the system does not say who has a file open.
func openForWriting(*os.File) bool { return false }
