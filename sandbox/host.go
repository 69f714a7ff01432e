package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Error numbers of WASI preview 1.
const (
	wasiSuccess = 0
	wasiBadFile = 8
	wasiFault   = 21
	wasiNoSys   = 52
)

// instantiateHost gives the module its imports: a clock, and for all else a refusal. No file, no argument, no variable,
// no randomness, no waiting; output goes nowhere.
func instantiateHost(ctx context.Context, rt wazero.Runtime, compiled wazero.CompiledModule) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for n, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if builders[module] == nil {
			builders[module] = rt.NewHostModuleBuilder(module)
		}
		fn := hostFunction(module, name)
		if n == fnTick && name != "fd_close" {
			return fmt.Errorf("bind imports: number %d is %s, not fd_close", n, name)
		}
		builders[module].NewFunctionBuilder().
			WithGoModuleFunction(fn, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for module, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("bind imports of %s: %w", module, err)
		}
	}
	return nil
}

// hostFunction is what stands behind one import. Panics with an error end the guest: wazero turns them into the error of
// the call into it.
func hostFunction(module, name string) api.GoModuleFunc {
	switch {
	case module != "wasi_snapshot_preview1":
		return func(context.Context, api.Module, []uint64) { panic(errBridge) }
	case name == "fd_close":
		return closeOrTick
	case name == "clock_time_get":
		return clock
	case name == "proc_exit":
		return func(context.Context, api.Module, []uint64) { panic(errExit) }
	case name == "args_sizes_get" || name == "environ_sizes_get":
		return func(_ context.Context, m api.Module, stack []uint64) {
			mem := m.Memory()
			if !mem.WriteUint32Le(uint32(stack[0]), 0) || !mem.WriteUint32Le(uint32(stack[1]), 0) {
				stack[0] = wasiFault
				return
			}
			stack[0] = wasiSuccess
		}
	case name == "args_get" || name == "environ_get":
		return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = wasiSuccess }
	case len(name) > 3 && name[:3] == "fd_":
		return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = wasiBadFile }
	}
	return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = wasiNoSys }
}

// closeOrTick is fd_close, and the host's tick where the descriptor is one that no real call has.
func closeOrTick(ctx context.Context, _ api.Module, stack []uint64) {
	switch int32(stack[0]) {
	case tickFuel:
		if err := ctx.(*round).tick(); err != nil {
			panic(err)
		}
	case tickMemory:
		panic(errMemory)
	case tickStack:
		panic(errStack)
	}
	stack[0] = wasiBadFile
}

// clock answers every WASI clock with the guest's time.
func clock(ctx context.Context, m api.Module, stack []uint64) {
	r := ctx.(*round)
	r.readClock = true
	if !m.Memory().WriteUint64Le(uint32(stack[2]), uint64(r.now().UnixNano())) {
		stack[0] = wasiFault
		return
	}
	stack[0] = wasiSuccess
}
