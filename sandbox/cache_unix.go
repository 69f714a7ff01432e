//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// private reports why a directory is not the user's alone, or nil.
func private(_ string, info os.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("its mode is %#o; others must have no access: chmod 700", mode)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to another user; name a directory of your own")
	}
	return nil
}
