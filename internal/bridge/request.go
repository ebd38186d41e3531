package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime"
)

// Request is one call. What an action does not need is left out.
type Request struct {
	// Action is admit, admit_core, needs_gate, environment or facts.
	Action string `json:"action"`
	// URL, EngineID and DeadlineMS are as in runtime.Options.
	URL        string `json:"url,omitempty"`
	EngineID   string `json:"engine_id,omitempty"`
	DeadlineMS int64  `json:"deadline_ms,omitempty"`
	// Env is the environment of the caller, NAME=value: a library that was loaded late does not see changes to its own.
	Env []string `json:"env,omitempty"`

	Rank             int64              `json:"rank,omitempty"`
	WorldSize        int64              `json:"world_size,omitempty"`
	DataParallelRank int64              `json:"data_parallel_rank,omitempty"`
	Groups           map[string][]int64 `json:"groups,omitempty"`
	Engine           v1.Engine          `json:"engine,omitzero"`
	// Transfer is the KV transfer configuration as text, for callers who have it so; text that is no JSON counts as tiers.
	Transfer *string `json:"transfer,omitempty"`
	// Name is what the engine's configuration says that can name it where no launcher does; for environment.
	Name runtime.EngineName `json:"name,omitzero"`
}

// Answer is what came of a request: Error, or what the action gives.
type Answer struct {
	Error *Failure `json:"error,omitempty"`
	// Needed answers needs_gate.
	Needed *bool `json:"needed,omitempty"`
	// Engine is the engine's key, for environment.
	Engine string        `json:"engine,omitempty"`
	Facts  *v1.NodeFacts `json:"facts,omitempty"`
}

// Do carries out a request. It never fails: what goes wrong is in the answer. Log takes the runtime's lines.
func Do(ctx context.Context, request []byte, log *slog.Logger) (answer []byte) {
	defer func() {
		if p := recover(); p != nil {
			answer = encode(Answer{Error: &Failure{Code: CodeInternal, Message: fmt.Sprintf("panic: %v", p)}})
		}
	}()
	r, err := decode(request)
	if err != nil {
		return encode(Answer{Error: &Failure{Code: CodeRequest, Message: err.Error()}})
	}
	a, err := r.do(ctx, log)
	if err != nil {
		a = Answer{Error: failure(ctx, err)}
	}
	return encode(a)
}

func decode(text []byte) (*Request, error) {
	r := new(Request)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("read request: there is more behind it")
	}
	if r.Transfer != nil {
		r.Engine.KVTransfer = transfer(*r.Transfer)
	}
	return r, nil
}

// transfer keeps text that is no JSON as a JSON text, which no transfer configuration is, so that it is judged as unreadable.
func transfer(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string is always written
	return quoted
}

func (r *Request) do(ctx context.Context, log *slog.Logger) (Answer, error) {
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	switch r.Action {
	case "admit", "admit_core":
		return Answer{}, r.admit(ctx, log)
	case "needs_gate":
		needed := v1.NeedsGate(&r.Engine)
		return Answer{Needed: &needed}, nil
	case "facts":
		facts := runtime.Facts(r.Env)
		return Answer{Facts: &facts}, nil
	case "environment":
		env, err := runtime.FromEnvironment(r.Env)
		if err != nil {
			return Answer{}, &environmentError{err}
		}
		key, err := env.EngineKey(r.Name)
		if err != nil {
			return Answer{}, &environmentError{err}
		}
		return Answer{Engine: key.Value}, nil
	}
	return Answer{}, &requestError{fmt.Sprintf("action %q: allowed are admit, admit_core, needs_gate, environment and facts", r.Action)}
}

// admit goes through the gate. The caller runs what comes behind it, by when the segment is gone again.
func (r *Request) admit(ctx context.Context, log *slog.Logger) error {
	gate, err := runtime.New(runtime.Options{
		URL: r.URL, Engine: r.EngineID, Deadline: time.Duration(r.DeadlineMS) * time.Millisecond, Environ: r.Env, Logger: log,
	})
	if err != nil {
		return &requestError{err.Error()}
	}
	if r.Action == "admit_core" {
		return gate.AdmitCore(ctx, r.Engine, r.DataParallelRank)
	}
	return gate.RegisterKV(ctx, runtime.Membership{
		Rank: r.Rank, WorldSize: r.WorldSize, DataParallelRank: r.DataParallelRank, Groups: r.Groups, Engine: r.Engine,
	}, func(context.Context) error { return nil })
}

func encode(a Answer) []byte {
	text, err := json.Marshal(a)
	if err != nil { // a verdict that cannot be written again; the rest can
		text, _ = json.Marshal(Answer{Error: &Failure{Code: CodeInternal, Message: "write answer: " + err.Error()}})
	}
	return text
}
