package host

import (
	"context"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// Instance evaluates one input at a time; it is not safe for concurrent use. After an error it must be closed: a
// module that was left in the middle keeps its C stack moved, and 511 such evaluations would poison it for good.
type Instance struct {
	module *Module
	mod    api.Module
	mem    api.Memory
	eval   evaluation

	fuelLeft, faultSite, site api.MutableGlobal
	result                    api.MutableGlobal
	setHeap, evaluate         api.Function
	malloc, parse, dump       api.Function
	stack                     [1]uint64
	enc                       encoder
	dec                       decoder

	data, heap uint32 // the data document, and the heap above it where every evaluation starts
	budget     int64  // the steps that are left, apart from those in fuelLeft
	builtinErr *Error
}

// Instantiate makes an instance with the data document in its memory.
func (m *Module) Instantiate(ctx context.Context) (*Instance, error) {
	in := &Instance{module: m}
	in.eval = evaluation{Context: ctx, in: in}
	defer in.end()
	mod, err := m.host.runtime.InstantiateModule(&in.eval, m.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, failed(err)
	}
	in.mod, in.mem = mod, mod.Memory()
	if err := in.bind(); err != nil {
		return nil, in.discard(err)
	}
	in.fuelLeft.Set(fuelSlice)
	in.budget = math.MaxInt64 // it is for evaluations
	if err := in.layOut(); err != nil {
		return nil, in.discard(err)
	}
	return in, nil
}

func (in *Instance) discard(err error) error {
	_ = in.mod.Close(context.Background())
	return err
}

// bind looks up what the module exports.
func (in *Instance) bind() error {
	for name, fn := range map[string]*api.Function{
		"opa_heap_ptr_set": &in.setHeap, "eval": &in.evaluate, "opa_malloc": &in.malloc, "opa_value_parse": &in.parse,
		"opa_json_dump": &in.dump,
	} {
		if *fn = in.mod.ExportedFunction(name); *fn == nil {
			return &Error{Kind: ErrTrap, Detail: "the module exports no function " + name}
		}
	}
	for name, global := range map[string]*api.MutableGlobal{
		rewrite.FuelExport: &in.fuelLeft, rewrite.FaultExport: &in.faultSite, rewrite.SiteExport: &in.site,
		rewrite.ResultExport: &in.result,
	} {
		*global = in.mod.ExportedGlobal(name).(api.MutableGlobal)
	}
	return nil
}

// layOut writes what every evaluation shares to the bottom of the heap: small values and the data document.
func (in *Instance) layOut() error {
	heap, err := in.call(in.mod.ExportedFunction("opa_heap_ptr_get"))
	if err != nil {
		return fmt.Errorf("find heap: %w", err)
	}
	in.enc.in = in
	if heap, err = in.enc.share(heap); err != nil {
		return fmt.Errorf("store constants: %w", err)
	}
	if in.data, in.heap, err = in.enc.encode(heap, in.module.data); err != nil {
		return fmt.Errorf("store data: %w", err)
	}
	in.dec.limit = int(in.module.limits.MaxPages) * pageSize
	in.dec.constants = in.heap
	return nil
}

// Oversized reports that the instance grew beyond what should be kept.
func (in *Instance) Oversized() bool { return in.mem.Size() > in.module.limits.RetirePages*pageSize }

// Close frees the instance.
func (in *Instance) Close(ctx context.Context) { _ = in.mod.Close(ctx) }
