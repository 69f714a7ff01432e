//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

var errSeparate = errors.New("guests can be isolated in worker processes on Linux only; use isolation none or auto")

// separable tells why there can be no worker processes.
func separable() error { return errSeparate }

func confine(*exec.Cmd) {}

func lateTimers() (restore func()) { return func() {} }

func lockedDown(int) error { return errSeparate }

func connection() (mine, its *os.File, err error) { return nil, nil, errSeparate }

func writeNow(syscall.RawConn, []byte) int { return 0 }

// descriptor is a worker's end of its connection.
type descriptor int

func (descriptor) Read([]byte) (int, error)  { return 0, errSeparate }
func (descriptor) Write([]byte) (int, error) { return 0, errSeparate }
func (descriptor) pending() bool             { return true }
func (descriptor) only() error               { return errSeparate }
func (descriptor) lockDown() error           { return errSeparate }

func lasting() (func(int) (*reservation, error), error) { return reserve, nil }
