//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An interrupt ends a command that waits for its standard input.
func TestInterrupt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is the program when it is called by the program's name.
	c := exec.Command(self)
	c.Args = []string{"cardrun", "check", "--no-cache", file, "-"}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	defer stop.Stop()
	// The first card's findings are out: now it reads the second.
	lines := bufio.NewScanner(out)
	for range 5 {
		if !lines.Scan() {
			t.Fatalf("no finding: %v, %s", lines.Err(), said.String())
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	if got := c.ProcessState.ExitCode(); got != exitInterrupted || said.String() != "cardrun: interrupted\n" {
		t.Errorf("exit status %d, %v, standard error %q", got, err, said.String())
	}
}
