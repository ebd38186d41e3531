package topology

// The codes of an InputError.
const (
	CodeTooManyRanks  = "too_many_ranks"
	CodeEmptyNodeID   = "empty_node_id"
	CodeDuplicateNode = "duplicate_node"
	CodeUnknownNode   = "unknown_node"
	CodeNegativeBytes = "negative_bytes"
)

// InputError is a launch that cannot be folded because it contradicts itself or is out of bounds. It is the only kind of
// error that launches cause; a configuration that vLLM would refuse is no error here but a check's failure.
type InputError struct {
	// Code is stable and meant for programs.
	Code string
	// Pointer is the JSON pointer of the offending value in the launch document.
	Pointer string
	// Detail says what was seen, what is allowed and what to do.
	Detail string
	// Nearest is the known name closest to an unknown one, or empty.
	Nearest string
}

// Error gives the position and the detail.
func (e *InputError) Error() string { return e.Pointer + ": " + e.Detail }
