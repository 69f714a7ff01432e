package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// resident is the memory that the process has after a collection, in bytes; 0 where the system does not say.
func resident() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
