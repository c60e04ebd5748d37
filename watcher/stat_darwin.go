package watcher

import (
	"io/fs"
	"syscall"
	"time"
)

// signatureOf returns the signature in a file's info.
func signatureOf(info fs.FileInfo) signature {
	st := info.Sys().(*syscall.Stat_t)
	return signature{
		identity: identity{dev: uint64(st.Dev), ino: st.Ino},
		size:     st.Size,
		mtime:    st.Mtimespec.Nano(),
		ctime:    st.Ctimespec.Nano(),
		kind:     info.Mode().Type(),
		shared:   st.Nlink > 1 && info.Mode().IsRegular(),
	}
}

// ThreadTime returns the CPU time of the process, because the system does not report that of the
// thread.
func ThreadTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
