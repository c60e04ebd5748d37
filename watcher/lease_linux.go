package watcher

import (
	"os"
	"syscall"
)

// openForWriting reports whether a process has the file f open for writing. The system reports it
// only to the file's owner, and to processes with CAP_LEASE.
//
// The kernel grants a read lease only if no process has the file open for writing (fcntl(2),
// F_SETLEASE). The lease is released at once. A process that opens the file for writing in between
// waits for that. Go's runtime ignores the SIGIO that announces it.
func openForWriting(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	_ = conn.Control(func(fd uintptr) { open = refusesLease(fd) }) // an error leaves it unknown
	return open
}

func refusesLease(fd uintptr) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETLEASE, syscall.F_RDLCK)
	switch errno {
	case 0:
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETLEASE, syscall.F_UNLCK)
		return false
	case syscall.EAGAIN:
		// NFS says the same for any file of which the server has not delegated the care.
		var st syscall.Statfs_t
		return syscall.Fstatfs(int(fd), &st) == nil && foreignKind(uint32(st.Type)) == ""
	}
	return false
}
