package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A test process that is killed cannot end its children, so they go with it by themselves. SIGKILL, because it also
// reaches a program that a test has frozen. It is set in init, which runs on the main thread: the kernel keeps the wish
// per thread, and that thread lives as long as the process.
func init() {
	parent, err := strconv.Atoi(os.Getenv("CONTROLPLANE_PARENT"))
	if err != nil {
		return
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		panic(err)
	}
	// The parent may have died before the kernel was told.
	if os.Getppid() != parent {
		os.Exit(1)
	}
}
