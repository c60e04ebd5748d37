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

// An Envoy that is started for hot restart calls prctl(PR_SET_PDEATHSIG): the kernel then kills it when its
// parent ends. No option of Envoy prevents this call. To let Envoy outlive gatefold, gatefold starts a process
// of its own program. That process installs a filter of system calls, which disables this one call. Then it
// executes Envoy.

// RunDetached replaces this process by the program at path, which does not end when its parent ends. args[0] is
// the name of the program. RunDetached returns only if it fails.
func RunDetached(path string, args []string) error {
	runtime.LockOSThread() // the filter is installed for one thread, and that thread must call exec
	if err := outlive(); err != nil {
		return err
	}
	return unix.Exec(path, args, os.Environ())
}

// CheckDetached returns an error if RunDetached cannot work on this machine. To find out, it calls the function
// outlive, which installs a seccomp filter. The filter cannot be removed, so call CheckDetached only in a helper
// process.
func CheckDetached() error {
	runtime.LockOSThread()
	return outlive()
}

// outlive installs a filter of system calls for this thread and its children. With the filter,
// prctl(PR_SET_PDEATHSIG) does nothing and returns success. All other system calls work as before. If the kernel
// requires it, outlive also sets the flag "no new privileges" of the thread. The error means that the kernel does
// not allow the filter.
func outlive() error {
	const number, firstArgument = 0, 16 // offsets in struct seccomp_data (little-endian)
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
	// Without CAP_SYS_ADMIN, a filter needs the flag "no new privileges". Ambient capabilities stay. The flag
	// disables the capabilities of the program's file. So detachable rejects an Envoy with such capabilities.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := install(program); err != nil {
		return fmt.Errorf("filter of system calls: %w", err)
	}
	return nil
}

// install installs a filter of system calls for this thread. It returns an error if the kernel does not allow
// that.
func install(program *unix.SockFprog) error {
	address := uintptr(unsafe.Pointer(program)) //nolint:gosec // the kernel reads it
	// The flag switches off a CPU mitigation that would slow down Envoy.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, address)
	if errno == 0 {
		runtime.KeepAlive(program)
		return nil
	}
	// The kernel is older, or the service manager allows only this call.
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, address, 0, 0)
	runtime.KeepAlive(program)
	return err
}

// detachable returns the reason why gatefold cannot start an Envoy that allows hot restart and outlives gatefold,
// or nil if gatefold can. self is the command line that runs gatefold (Options.Self), and binary is the path of
// Envoy.
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

// selfCommand returns a command that runs RunDetached with args in a new process, or CheckDetached if there are
// no args. self is Options.Self.
func selfCommand(self []string, args ...string) *exec.Cmd {
	// This path works even if the program was replaced on the disk.
	return &exec.Cmd{Path: "/proc/self/exe", Args: append(self[:len(self):len(self)], args...)}
}
