package rewrite

// The opcodes that matter here.
const (
	opBlock      = 0x02
	opLoop       = 0x03
	opIf         = 0x04
	opElse       = 0x05
	opEnd        = 0x0b
	opBr         = 0x0c
	opBrIf       = 0x0d
	opReturn     = 0x0f
	opCall       = 0x10
	opLocalGet   = 0x20
	opLocalSet   = 0x21
	opLocalTee   = 0x22
	opGlobalGet  = 0x23
	opGlobalSet  = 0x24
	opI32Load    = 0x28
	opI64Load    = 0x29
	opI32Load8U  = 0x2d
	opI64Load8U  = 0x31
	opI64Load32U = 0x35
	opI32Store   = 0x36
	opI32Const   = 0x41
	opI64Const   = 0x42
	opI32Eqz     = 0x45
	opI32Eq      = 0x46
	opI32LtS     = 0x48
	opI32GtS     = 0x4a
	opI32GeU     = 0x4f
	opI64Ne      = 0x52
	opI32Add     = 0x6a
	opI32Sub     = 0x6b
	opI32Or      = 0x72
	opI32Shl     = 0x74
	opI32ShrU    = 0x76
	opI64Mul     = 0x7e
	opI64Or      = 0x84
	opI64Xor     = 0x85
	opI64Shl     = 0x86
	opI64ShrU    = 0x88

	opI32WrapI64    = 0xa7
	opI64ExtendI32U = 0xad

	blockEmpty = 0x40
	typeI32    = 0x7f
	typeI64    = 0x7e
)
