package watcher

// probe returns nil, because kqueue reports changes of every file system.
func probe(string) error { return nil }

// foreign returns "": no file system is known to have silent changes here.
func foreign(string) string { return "" }
