package watcher

import (
	"os"
	"syscall"
)

// openForWriting reports whether a process has the file f open for writing. If the system does not tell gatefold, the
// result is false: only the file's owner and processes with CAP_LEASE can know.
//
// The kernel grants a read lease only if no process has the file open for writing (fcntl(2), F_SETLEASE).
// openForWriting releases the lease at once. If another process opens the file for writing before the release, this
// other process waits for the release. The kernel also sends the signal SIGIO to gatefold, and Go's runtime ignores
// it.
func openForWriting(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	_ = conn.Control(func(fd uintptr) { open = refusesLease(fd) }) // after an error it is unknown
	return open
}

// refusesLease reports whether the kernel refuses a read lease on fd because a process writes the file.
func refusesLease(fd uintptr) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETLEASE, syscall.F_RDLCK)
	switch errno {
	case 0:
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETLEASE, syscall.F_UNLCK)
		return false
	case syscall.EAGAIN:
		// NFS also returns EAGAIN for every file that the server has not delegated to this client.
		var st syscall.Statfs_t
		return syscall.Fstatfs(int(fd), &st) == nil && foreignKind(uint32(st.Type)) == ""
	}
	return false
}
