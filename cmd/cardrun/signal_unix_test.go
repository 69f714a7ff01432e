//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An interrupt ends a command that waits for its standard input, whatever it reads there.
func TestInterrupt(t *testing.T) {
	card := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(card, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"render", "-"}, {"check", "--no-cache", "-"}, {"show", "-"}, {"play", "-"}, {"play", card, "--events", "-"}, {"conform", "/dev/stdin"},
	} {
		t.Run(strings.Join(args[:1], " ")+" "+args[len(args)-1], func(t *testing.T) { expectInterrupted(t, args) })
	}
}

func expectInterrupted(t *testing.T, args []string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is the program when it is called by the program's name.
	c := exec.Command(self)
	c.Args = append([]string{"cardrun"}, args...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	defer stop.Stop()
	// No pipe holds as much. When it is written, the program is reading, and waits for more.
	if _, err := io.WriteString(in, strings.Repeat("\n", 200<<10)); err != nil {
		t.Fatalf("%v, %s", err, said.String())
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	if got := c.ProcessState.ExitCode(); got != exitInterrupted || said.String() != "cardrun: interrupted\n" {
		t.Errorf("exit status %d, %v, standard error %q", got, err, said.String())
	}
}
