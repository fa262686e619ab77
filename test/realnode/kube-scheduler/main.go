// The entry point of the image: the control plane's binary chooses its program by its first argument.
package main

import (
	"os"
	"syscall"
)

func main() {
	arguments := append([]string{"controlplane", "kube-scheduler"}, os.Args[1:]...)
	if err := syscall.Exec("/controlplane", arguments, os.Environ()); err != nil {
		panic(err)
	}
}
