package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDeploy holds the systemd unit and the container recipe to what keeps cards in: workers that are asked for by name, so that
// a place where they cannot lock themselves down is noticed, and the system call with which they do.
func TestDeploy(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	unit := make(map[string]string)
	for line := range strings.Lines(read("cardrun.service")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name[0] != '#' {
			unit[name] = value
		}
	}
	if calls := strings.Fields(unit["SystemCallFilter"]); !slices.Contains(calls, "seccomp") || !slices.Contains(calls, "@system-service") {
		t.Errorf("the unit lets through %q; workers need @system-service and seccomp", calls)
	}
	for name, value := range map[string]string{
		"DynamicUser": "yes", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "MemoryMax": "2G",
	} {
		if got, ok := unit[name]; !ok || got != value {
			t.Errorf("%s is %q in the unit, want %q", name, got, value)
		}
	}
	if unit["MemoryDenyWriteExecute"] == "yes" {
		t.Error("the unit denies the engine its machine code")
	}
	if !strings.Contains(unit["ExecStart"], " --isolate process ") {
		t.Errorf("the unit does not ask for workers: %s", unit["ExecStart"])
	}
	if recipe := read("Containerfile"); !strings.Contains(recipe, `"--isolate", "process"`) || !strings.Contains(recipe, "\nUSER 65532") {
		t.Error("the container does not ask for workers, or runs as root")
	}
}
