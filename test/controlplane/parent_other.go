//go:build !linux

package main

import (
	"os"
	"strconv"
	"time"
)

// Where the kernel does not tell of a parent's death, the program looks for itself.
func init() {
	parent, err := strconv.Atoi(os.Getenv("CONTROLPLANE_PARENT"))
	if err != nil {
		return
	}
	go func() {
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
		os.Exit(1)
	}()
}
