//go:build !linux

package sandbox

import (
	"errors"
	"time"
)

// Elsewhere the system is not asked; what these stand for is not measured.

func threadCPU() time.Duration { return 0 }

func resident() int { return 0 }

func guestMappings() int { return -1 }

func codeMappings() int { return -1 }

func descriptors() int { return -1 }

func withoutDescriptors(func()) error { return errors.ErrUnsupported }

func tinyDisk(string, int) (func(), error) { return nil, errors.ErrUnsupported }

func readOnly(string) error { return errors.ErrUnsupported }

func pipe(string) error { return errors.ErrUnsupported }

func workerRole() func() int { return nil }
