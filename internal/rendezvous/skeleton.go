package rendezvous

import (
	"context"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

const maxDeciding = 4

type engine struct{}

type awaited struct{}

// Run folds the journal until the context ends. It owns every goroutine of the service.
func (s *Service) Run(ctx context.Context) error { panic("not yet") }

// Ready tells whether the journal has been folded.
func (s *Service) Ready() bool { panic("not yet") }

// Report takes the report of a rank and waits for the verdict, or for the end.
func (s *Service) Report(ctx context.Context, key Key, rank int64, r *v1.Report, wait time.Duration) (*v1.Progress, error) {
	panic("not yet")
}

// Probe takes the answers of a rank and waits for the admission.
func (s *Service) Probe(ctx context.Context, key Key, attempt, rank int64, p *v1.Probe, wait time.Duration) (*v1.Progress, error) {
	panic("not yet")
}

// Core answers an engine core. Without an answer and an error the attempt has not ended yet.
func (s *Service) Core(ctx context.Context, key Key, attempt int64, c *v1.CoreReport, wait time.Duration) (*v1.CoreAdmission, error) {
	panic("not yet")
}

// Revoke ends an open attempt. An id that is not empty must be the attempt's.
func (s *Service) Revoke(ctx context.Context, key Key, attempt int64, r v1.Revocation) (*v1.AttemptEnd, error) {
	panic("not yet")
}

// Engines lists a tenant's engines.
func (s *Service) Engines(tenant string) v1.Engines { panic("not yet") }

// Engine shows an engine with the attempts that are remembered.
func (s *Service) Engine(key Key) (*v1.EngineView, error) { panic("not yet") }

// Attempt shows one attempt.
func (s *Service) Attempt(key Key, n int64) (*v1.AttemptView, error) { panic("not yet") }

// Changed is closed at the next change of an engine; with an empty engine, of any of the tenant's.
func (s *Service) Changed(key Key) <-chan struct{} { panic("not yet") }

// Load counts open attempts and waiting calls.
func (s *Service) Load() (open, waiting int) { panic("not yet") }
