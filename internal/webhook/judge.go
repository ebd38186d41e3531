package webhook

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/kube"
)

// Decide gives the verdict of an engine. Before tells that it is one of the object as it was, which is only compared with.
type Decide func(ctx context.Context, engine *kube.Engine, before bool) (*v1.Verdict, error)

// Why a violation does not deny. Both are shown with the violation.
const (
	notNew      = "not new"
	ownerJudged = "owner judged"
)

// Judge answers a review; id is that of the decision. Errors are *Error, for an object that cannot be read, and those of
// decide: what could not be decided has no answer.
func (r *Review) Judge(ctx context.Context, id string, decide Decide) (*Answer, error) {
	a := &Answer{Outcome: OutcomeIgnored, review: r, id: id}
	if !r.judged() || r.ends() {
		return a, nil
	}
	engines, err := kube.Read(r.object)
	if errors.Is(err, kube.ErrNoEngine) {
		return a, nil
	}
	if err != nil {
		return r.unread(a, err)
	}
	for i := range engines {
		if err := r.judge(ctx, a, &engines[i], decide); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// ends tells an object that is being deleted. Its last updates take finalizers away and must not be held up.
func (r *Review) ends() bool {
	return r.Operation == Update && r.meta.Metadata.DeletionTimestamp != ""
}

// judge adds the verdict of one engine to the answer.
func (r *Review) judge(ctx context.Context, a *Answer, engine *kube.Engine, decide Decide) error {
	verdict, err := decide(ctx, engine, false)
	if err != nil {
		return err
	}
	a.note(verdict)
	switch verdict.Outcome {
	case v1.Allow, v1.Unknown:
		a.rise(verdict.Outcome)
	case v1.Deny:
		if err := r.deny(ctx, a, engine, verdict, decide); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the verdict on %s has the outcome %q", engine.Source, verdict.Outcome)
	}
	a.warn(verdict)
	return nil
}

// deny tells the violations that deny the object from those that it is not to blame for: of an object that its controller
// makes, the owner was judged; of an object that is changed, violations that it had before are not the change's.
func (r *Review) deny(ctx context.Context, a *Answer, engine *kube.Engine, verdict *v1.Verdict, decide Decide) error {
	found := denials(verdict)
	if r.controller() != "" {
		a.tolerate(found, ownerJudged)
		return nil
	}
	before, err := r.before(ctx, engine, found, decide)
	if err != nil {
		return err
	}
	var fresh, old []finding
	for _, f := range found {
		if before[f] {
			old = append(old, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) > 0 {
		a.deny(engine.Source, fresh)
	}
	a.tolerate(old, notNew)
	return nil
}

// before lists the violations that the same engine of the old object has, by the same policy.
func (r *Review) before(ctx context.Context, engine *kube.Engine, found []finding, decide Decide) (map[finding]bool, error) {
	if r.Operation != Update || r.old == nil {
		return nil, nil
	}
	engines, err := kube.Read(r.old)
	if err != nil {
		return nil, nil // What could not be read had no verdict, so that every violation is new.
	}
	for i := range engines {
		old := &engines[i]
		if old.Source != engine.Source {
			continue
		}
		if !reflect.DeepEqual(old.Launch, engine.Launch) {
			verdict, err := decide(ctx, old, true)
			if err != nil {
				return nil, err
			}
			found = nil
			if verdict.Outcome == v1.Deny {
				found = denials(verdict)
			}
		}
		known := make(map[finding]bool, len(found))
		for _, f := range found {
			known[f] = true
		}
		return known, nil
	}
	return nil, nil
}

// unread answers for an object whose engine cannot be read. It is an error, unless nothing about that is new: then this
// request must not fail for it.
func (r *Review) unread(a *Answer, err error) (*Answer, error) {
	var manifest *kube.Error
	if !errors.As(err, &manifest) {
		return nil, err
	}
	why := ""
	if r.controller() != "" {
		why = ownerJudged
	} else if r.Operation == Update && r.old != nil {
		if _, old := kube.Read(r.old); old != nil && old.Error() == err.Error() {
			why = notNew
		}
	}
	if why == "" {
		return nil, &Error{
			Code: manifest.Code, Pointer: "/request/object" + manifest.Pointer,
			Detail: manifest.Object + ": " + manifest.Detail, err: err,
		}
	}
	a.rise(OutcomeTolerated)
	a.tolerated = appendNew(a.tolerated, why)
	a.add(fmt.Sprintf("%s (%s): %s", manifest.Code, why, manifest.Detail))
	return a, nil
}

// finding is one violation of a check that denies. Two of them are the same if they read the same.
type finding struct{ check, message, fix string }

// denials lists what denies. A verdict that denies and does not say why still denies.
func denials(verdict *v1.Verdict) (list []finding) {
	for i := range verdict.Checks {
		c := &verdict.Checks[i]
		if c.Outcome != v1.Fail || c.Enforcement != v1.EnforceDeny {
			continue
		}
		for _, v := range c.Violations {
			list = append(list, finding{c.ID, v.Message, v.Fix})
		}
		if len(c.Violations) == 0 {
			list = append(list, finding{check: c.ID, message: "it fails without a reason"})
		}
	}
	if len(list) == 0 {
		list = append(list, finding{check: "verdict", message: "it denies without a check that fails"})
	}
	return list
}
