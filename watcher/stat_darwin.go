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
		mtime:    st.Mtimespec.Nano(),
		ctime:    st.Ctimespec.Nano(),
		kind:     info.Mode().Type(),
		shared:   st.Nlink > 1 && info.Mode().IsRegular(),
		nameless: st.Nlink == 0 && info.Mode().IsRegular(),
	}
}

// ThreadTime returns the CPU time of the whole process, because macOS does not report the time of a thread. It
// returns 0 after an error of the system.
func ThreadTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
