package watcher

import (
	"os"
	"syscall"
)

// probe tests whether the system reports events of the directory dir. It returns errSilent if there are none,
// and another error if the test fails. The test opens dir, which causes an event without writing. The event
// exists when open returns.
func probe(dir string) error {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("inotify_init1", err)
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written to it
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_OPEN|syscall.IN_ONLYDIR); err != nil {
		return os.NewSyscallError("inotify_add_watch", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	f.Close()
	var event [4096]byte
	if n, err := syscall.Read(fd, event[:]); err != nil || n <= 0 {
		return errSilent
	}
	return nil
}

// foreign returns the kind of the file system of dir, such as "NFS", if its files can change without an event
// on this machine. The change may come from another host, the host of this virtual machine, or the program
// behind a FUSE mount. For any other or unknown file system, foreign returns "".
func foreign(dir string) string {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return ""
	}
	return foreignKind(uint32(st.Type))
}

// foreignKind returns the name of the file system with the number magic of statfs(2), as in the kernel's
// magic.h. It returns "" for every other number: such a file system is expected to report all changes by
// events.
func foreignKind(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517B, 0xFF534D42, 0xFE534D42:
		return "SMB"
	case 0x01021997:
		return "9p"
	case 0x65735546:
		return "FUSE or virtiofs"
	case 0x786F4256:
		return "vboxsf"
	case 0xBACBACBC:
		return "vmhgfs"
	case 0x7C7C6673:
		return "prl_fs"
	case 0x00C36400:
		return "Ceph"
	case 0x5346414F, 0x6B414653:
		return "AFS"
	case 0x0BD00BD0:
		return "Lustre"
	case 0x47504653:
		return "GPFS"
	case 0x01161970, 0x7461636F:
		return "a cluster file system"
	}
	return ""
}
