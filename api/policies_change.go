package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
	"github.com/tiergate/tiergate/topology/document"
)

// maxPolicy is the largest policy that is sent: that of a packed bundle. Bytes.
const maxPolicy = 32 << 20

// errNoRollout: a server that was handed a ready engine has nothing to change it with.
var errNoRollout = &refusal{v1.CodeNotEnabled, "this service's policy is not changed while it runs"}

// putPolicies answers PUT /v1/policies: a bundle goes through the gate that a changed source would, and is in force when the
// answer is a 200.
func (x *exchange) putPolicies() error {
	if x.server.policies == nil {
		return errNoRollout
	}
	q, packed, err := x.receivePolicy()
	if err != nil {
		return err
	}
	match, _, _ := strings.Cut(strings.Trim(x.r.Header.Get("If-Match"), `"*`), "-") // the ETag of GET /v1/policies begins with the digest
	accepted := x.r.URL.Query()["accept"]
	for _, name := range accepted {
		if err := policy.CheckFlip(name); err != nil {
			return &refusal{v1.CodeInvalidParameter, "accept: " + err.Error()}
		}
	}
	return x.tried(q, func(ctx context.Context) (*v1.PolicyReport, error) {
		return x.server.policies.Put(ctx, packed, match, accepted)
	})
}

// previewed is what a preview tries, if it is no packed bundle: rule and data files by their paths, and a data document in
// place of the service's data file.
type previewed struct {
	Files map[string]string `json:"files"`
	Data  jsontext.Value    `json:"data"`
}

// previewPolicies answers POST /v1/policies/preview: what a policy would be found to be, and what it would change.
func (x *exchange) previewPolicies() error {
	if x.server.policies == nil {
		return errNoRollout
	}
	q, content, err := x.receivePolicy()
	if err != nil {
		return err
	}
	var (
		source policy.Source
		data   []byte
	)
	if mediaType, _, _ := strings.Cut(x.r.Header.Get("Content-Type"), ";"); mediaType == "application/json" {
		source, data, err = sourceOf(content)
	} else {
		source, err = x.server.policies.Unpack(content)
	}
	if err != nil {
		return policyRefused(err)
	}
	lines := x.server.decisions.Recent(x.identity.Tenant, "", mostDecisions)
	log := bytes.Join(asBytes(lines), []byte{'\n'})
	x.takeTime()
	report, err := x.server.policies.Preview(x.r.Context(), []policy.Source{source}, data, bytes.NewReader(log))
	x.answerSoon()
	if err != nil {
		return x.untried(err)
	}
	x.answer(q, encode(report)) // a preview that finds something is an answer
	return nil
}

// receivePolicy reads a body that is no launch.
func (x *exchange) receivePolicy() (q query, content []byte, err error) {
	if q, err = parseQuery(x.r.URL); err != nil {
		return q, nil, err
	}
	if x.place, err = x.server.queue.enter(); err != nil {
		return q, nil, err
	}
	b, err := readBytes(x.r, &x.place, maxPolicy)
	if err != nil {
		return q, nil, err
	}
	defer b.free()
	return q, bytes.Clone(b.data), nil
}

func (x *exchange) tried(q query, try func(context.Context) (*v1.PolicyReport, error)) error {
	x.takeTime() // a trial runs tests, which may take longer than an answer to a launch
	report, err := try(x.r.Context())
	x.answerSoon()
	switch {
	case err != nil:
		return x.untried(err)
	case !report.Refused():
		x.server.log.Info("policy changed over REST", "id", x.id, "identity", x.identity.Name, "revision", report.Revision)
		x.answer(q, encode(report))
		return nil
	}
	p := problem(v1.CodePolicyRefused, fmt.Sprintf("the policy was refused at the stage %s; what is in force stays; report.findings has all "+
		"%d reasons", report.Stage, len(report.Findings)))
	if report.Stage == v1.StageLaunches {
		p = problem(v1.CodeVerdictsFlip, "the policy decides stored launches otherwise; report.flips has which; if that is meant, name them: "+
			"?accept=FILE=OUTCOME for each")
	}
	p.Report = report
	return p
}

// untried says why nothing was tried.
func (x *exchange) untried(err error) error {
	switch {
	case x.r.Context().Err() != nil:
		return context.Cause(x.r.Context())
	case errors.Is(err, rollout.ErrBusy):
		return &refusal{v1.CodeOverloaded, err.Error() + "; try again later"}
	case errors.Is(err, rollout.ErrHasSources), errors.Is(err, rollout.ErrNoState):
		return &refusal{v1.CodeNotEnabled, err.Error()}
	case errors.Is(err, rollout.ErrNotKept):
		return &refusal{v1.CodeStore, err.Error()}
	case errors.Is(err, rollout.ErrStale):
		return &refusal{v1.CodeStale, err.Error() + "; look at what is in force, and send again"}
	}
	return err
}

func policyRefused(err error) error {
	var unreadable *bundle.Error
	var invalid *document.Error
	if errors.As(err, &unreadable) || errors.As(err, &invalid) {
		return problem(v1.CodePolicyRefused, err.Error())
	}
	return err
}

func sourceOf(text []byte) (_ policy.Source, data []byte, err error) {
	var sent previewed
	err = json.Unmarshal(text, &sent, json.RejectUnknownMembers(true))
	if err == nil && sent.Files == nil {
		err = errors.New("there are no files")
	}
	if err != nil {
		return policy.Source{}, nil, &document.Error{
			Code: document.CodeInvalidSyntax, Detail: fmt.Sprintf(`write {"files": {"PATH": "TEXT"}}, with "data" if you like, or send a packed bundle as application/gzip: %s`, err),
		}
	}
	files := map[string][]byte{}
	for name, text := range sent.Files {
		files[name] = []byte(text)
	}
	tree, err := bundle.Tree(files)
	return policy.Source{Name: "sent", FS: tree}, sent.Data, err
}

func asBytes[T ~[]byte](list []T) [][]byte {
	out := make([][]byte, len(list))
	for i, one := range list {
		out[i] = one
	}
	return out
}
