package bench

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	_ "github.com/open-policy-agent/opa/v1/features/wasm" // registers the target "wasm"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/util"
)

//go:embed peer/*.rego
var peerFiles embed.FS

// PeerQuery is the entry point of the peer policy, PeerPath its path in OPA's REST API.
const (
	PeerQuery = "data.tiergate.peer.verdict"
	PeerPath  = "/v1/data/tiergate/peer/verdict"
)

var errNoVerdict = errors.New("the peer policy gives no verdict")

// Interpreter is the peer policy in OPA's interpreter: a prepared query, the input read with OPA's own decoder.
func Interpreter(ctx context.Context) (Contender, error) {
	query, err := preparePeer(ctx, peerModules, nil)
	return Contender{Name: "interpreter", Decide: func(ctx context.Context, launch []byte) ([]byte, error) {
		var document any
		if err := util.UnmarshalJSON(launch, &document); err != nil {
			return nil, fmt.Errorf("read launch: %w", err)
		}
		input, err := ast.InterfaceToValue(document)
		if err != nil {
			return nil, fmt.Errorf("read launch: %w", err)
		}
		return evalPeer(ctx, query, rego.EvalParsedInput(input))
	}}, err
}

// OPAWasm is the same policy in OPA's own WebAssembly target. It takes the text of the launch as it is, which is the
// fastest of the ways to give it an input.
func OPAWasm(ctx context.Context) (Contender, error) {
	query, err := preparePeer(ctx, nativeModules, rego.Target("wasm"))
	return Contender{Name: "opa wasm", Decide: func(ctx context.Context, launch []byte) ([]byte, error) {
		return evalPeer(ctx, query, rego.EvalInput(launch))
	}}, err
}

func evalPeer(ctx context.Context, query rego.PreparedEvalQuery, input rego.EvalOption) ([]byte, error) {
	results, err := query.Eval(ctx, input)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if len(results) != 1 {
		return nil, errNoVerdict
	}
	return json.Marshal(results[0].Expressions[0].Value)
}

func preparePeer(
	ctx context.Context, modules func() (map[string]string, error), target func(*rego.Rego),
) (rego.PreparedEvalQuery, error) {
	files, err := modules()
	if err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	options := []func(*rego.Rego){rego.Query(PeerQuery)}
	for name, text := range files {
		options = append(options, rego.Module(name, text))
	}
	if target != nil {
		options = append(options, target)
	}
	query, err := rego.New(options...).PrepareForEval(ctx)
	if err != nil {
		return query, fmt.Errorf("prepare the peer policy: %w", err)
	}
	return query, nil
}

func peerModules() (map[string]string, error) {
	names, err := fs.Glob(peerFiles, "peer/*.rego")
	if err != nil {
		return nil, fmt.Errorf("list the peer policy: %w", err)
	}
	modules := make(map[string]string, len(names))
	for _, name := range names {
		text, err := peerFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the peer policy: %w", err)
		}
		modules[name] = string(text)
	}
	return modules, nil
}

// stepped is numbers.range_step in Rego.
const stepped = `package tiergate.peer

stepped(first, last, step) := [member |
	some k in numbers.range(0, floor((last - first) / step))
	member := first + (k * step)
]
`

// nativeModules is the peer policy without numbers.range_step, which OPA's WebAssembly calls in its host: replaced by
// a rule, the policy is four times as fast there. The interpreter, which has it built in, is twice as slow that way.
func nativeModules() (map[string]string, error) {
	modules, err := peerModules()
	for name, text := range modules {
		modules[name] = strings.ReplaceAll(text, "numbers.range_step(", "stepped(")
	}
	if err == nil {
		modules["stepped.rego"] = stepped
	}
	return modules, err
}

// WritePeer writes the policy for OPA's server into dir.
func WritePeer(dir string) error {
	modules, err := peerModules()
	if err != nil {
		return err
	}
	for name, text := range modules {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the peer policy: %w", err)
		}
	}
	return nil
}
