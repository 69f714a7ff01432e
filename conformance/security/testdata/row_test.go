package row

import "testing"

func TestInner(t *testing.T) {
	if t.Name() != "TestInner" {
		t.Error(t.Name())
	}
}
