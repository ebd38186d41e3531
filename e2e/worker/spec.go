package worker

import (
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime"
)

// Variable holds the Spec of a process that is to be a worker, as JSON.
const Variable = "TIERGATE_TEST_WORKER"

// Spec says which worker a process is.
type Spec struct {
	// URL is the service.
	URL  string
	Rank int64
	// Engine is the configuration, with the engine's name as ID. Its parallel sizes make the groups.
	Engine           v1.Engine
	DataParallelRank int64
	DeadlineMS       int64
	// Marker is a file that the callback makes; a second callback cannot.
	Marker string
	// Faults happen once each.
	Faults []Fault
	// Rounds is how often to register, each time when a line arrives on standard input, and as another engine; 0 is once and
	// at once.
	Rounds int
}

// Fault is something that goes wrong in this process once it logged a step.
type Fault struct {
	// After is the message that is logged, such as "report sent".
	After string
	// Do is one of the actions below.
	Do string
}

// What a Fault can do.
const (
	// Kill ends the process with SIGKILL; Stop makes it stand still.
	Kill = "kill"
	Stop = "stop"
	// Block holds the step until the process gets SIGUSR1.
	Block = "block"
	// NoFiles takes away what is left of file descriptors; Files gives them back.
	NoFiles = "no files"
	Files   = "files"
)

// Result is what a registration came to; each is a line of JSON on standard output.
type Result struct {
	Rank int64
	// Kind is admitted, rejected, how the attempt ended, service_lost, or other.
	Kind string
	// Error is the text of the error that RegisterKV returned.
	Error string `json:",omitempty"`
	// Admission of a rejection.
	Admission *v1.Admission `json:",omitempty"`
	// Opened are the segments that were opened, in order.
	Opened []Opened `json:",omitempty"`
	// Called, Sent, Judged, Answered, Admitted and Returned are when RegisterKV was called, its report was sent, the verdict
	// was received, the answers to it were sent, the admission was received, and RegisterKV returned: nanoseconds of a clock
	// that all processes of the machine share, 0 for what did not happen.
	Called, Sent, Judged, Answered, Admitted, Returned int64
}

// Opened is a segment that the worker was told to open, and what came of it.
type Opened struct {
	Kind    string
	Leader  int64
	Name    string
	Outcome string
	Errno   string `json:",omitempty"`
}

// Membership is the place of the worker in its grid.
func (s *Spec) Membership() runtime.Membership {
	p := s.Engine.Parallel
	tensor, pipeline, prefill := size(p.Tensor), size(p.Pipeline), size(p.PrefillContext)
	t, c, stage := s.Rank%tensor, s.Rank/tensor%prefill, s.Rank/tensor/prefill
	at := func(stage, c, t int64) int64 { return (stage*prefill+c)*tensor + t }
	line := func(size int64, at func(i int64) int64) (ranks []int64) {
		for i := range size {
			ranks = append(ranks, at(i))
		}
		return ranks
	}
	return runtime.Membership{
		Rank: s.Rank, WorldSize: tensor * pipeline * prefill, DataParallelRank: s.DataParallelRank, Engine: s.Engine,
		Groups: map[string][]int64{
			"tp":  line(tensor, func(i int64) int64 { return at(stage, c, i) }),
			"pp":  line(pipeline, func(i int64) int64 { return at(i, c, t) }),
			"pcp": line(prefill, func(i int64) int64 { return at(stage, i, t) }),
		},
	}
}

func size(n *int64) int64 {
	if n == nil {
		return 1
	}
	return *n
}
