package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Envoy that is started for hot restart asks the kernel to be ended with its parent
// (PR_SET_PDEATHSIG), and no option of Envoy has it leave that out. So that it outlives gatefold, a process
// of gatefold's own takes this one question from itself, by a filter of system calls, and becomes Envoy.

// RunDetached replaces this process by the program at path, which does not end with its parent.
// args[0] is the name of the program. It returns only if it fails.
func RunDetached(path string, args []string) error {
	runtime.LockOSThread() // the filter is the thread's, and so is what it becomes
	if err := outlive(); err != nil {
		return err
	}
	return unix.Exec(path, args, os.Environ())
}

// CheckDetached returns an error if RunDetached does not work here. It leaves the filter in force in this
// process.
func CheckDetached() error {
	runtime.LockOSThread()
	return outlive()
}

// outlive installs a filter for this thread and its children. With it, the kernel answers
// PR_SET_PDEATHSIG with success and does nothing. All other system calls are unchanged.
func outlive() error {
	const number, firstArgument = 0, 16 // of struct seccomp_data, the latter where the CPU is little-endian
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PRCTL, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: firstArgument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.PR_SET_PDEATHSIG, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO}, // with the number 0, which is success
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if install(program) == nil {
		return nil
	}
	// Without CAP_SYS_ADMIN a filter needs this promise. Ambient capabilities stay; those of the
	// program's file would not be given, which Host knows.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := install(program); err != nil {
		return fmt.Errorf("filter of system calls: %w", err)
	}
	return nil
}

// install installs a filter for this thread.
func install(program *unix.SockFprog) error {
	address := uintptr(unsafe.Pointer(program)) //nolint:gosec // the kernel reads it
	// The flag spares Envoy a mitigation that is for programs which distrust themselves.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, address)
	if errno == 0 {
		runtime.KeepAlive(program)
		return nil
	}
	// An older kernel, or a service manager that allows this way alone.
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, address, 0, 0)
	runtime.KeepAlive(program)
	return err
}

// detachable returns why an Envoy for hot restart would end together with gatefold, nil if it would
// not. self is the command that runs gatefold, see Options.Self.
func detachable(self []string, binary string) error {
	if len(self) == 0 {
		return errors.New("this program cannot start it")
	}
	if size, _ := unix.Getxattr(binary, "security.capability", nil); size > 0 && os.Geteuid() != 0 {
		return errors.New("the capabilities of its file (setcap) exclude it: give them to gatefold in their place (AmbientCapabilities of systemd)")
	}
	command := selfCommand(self)
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("this machine does not let Envoy outlive gatefold: %s", firstLine(text))
	}
	return nil
}

// selfCommand returns a command that runs RunDetached in a new process, or CheckDetached without
// args.
func selfCommand(self []string, args ...string) *exec.Cmd {
	// The program may have been replaced on the disk.
	return &exec.Cmd{Path: "/proc/self/exe", Args: append(self[:len(self):len(self)], args...)}
}
