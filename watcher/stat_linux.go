package watcher

import (
	"io/fs"
	"syscall"
	"time"
)

// signatureOf returns the signature of the file that info describes.
func signatureOf(info fs.FileInfo) signature {
	st := info.Sys().(*syscall.Stat_t)
	return signature{
		identity: identity{dev: uint64(st.Dev), ino: st.Ino},
		size:     st.Size,
		mtime:    st.Mtim.Nano(),
		ctime:    st.Ctim.Nano(),
		kind:     info.Mode().Type(),
		shared:   st.Nlink > 1 && info.Mode().IsRegular(),
		nameless: st.Nlink == 0 && info.Mode().IsRegular(),
	}
}

// ThreadTime returns the CPU time that the calling thread has used so far. It returns 0 if the system does not
// report it.
func ThreadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD, which package syscall does not name
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
