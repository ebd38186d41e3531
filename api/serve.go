package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// answerTime is what requests get to write that they were cut off.
const answerTime = time.Second

// Serve answers until the context ends and then shuts down: it reports not ready, accepts nothing more, lets requests
// under way finish within the shutdown timeout, and answers the rest with a problem. Workers that wait are told at once, so
// that they can wait elsewhere. It returns when nothing runs any more: nil after all requests had their answers, else an
// error that says how many were cut off or why an address failed.
func (s *Server) Serve(ctx context.Context) error {
	if s.listeners == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	main, diagnostic := s.httpServer(s.main, base), s.httpServer(s.diagnostic, base)
	webhook := s.httpServer(s.webhook, base)
	failed := make(chan error, len(s.listeners))
	gathering, disperse := context.WithCancel(context.WithoutCancel(ctx))
	defer disperse()
	var gathered sync.WaitGroup
	gathered.Go(func() { _ = s.rendezvous.Run(gathering) }) // it returns nil, after its context ended
	if s.shadow != nil {
		gathered.Go(func() { s.shadow.Run(gathering) })
	}
	if s.tls != nil {
		gathered.Go(func() { s.tls.Run(gathering) })
	}
	if s.access != nil {
		gathered.Go(func() { s.access.Run(gathering) })
	}
	var running sync.WaitGroup
	for _, l := range s.listeners {
		server := map[listenerRole]*http.Server{mainListener: main, diagnosticListener: diagnostic, webhookListener: webhook}[l.role]
		running.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.addr, err)
			}
		})
	}
	s.log.Info("serving", "urls", s.URLs())
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.draining.Store(true)
	if err == nil && s.config.DrainDelay > 0 {
		err = s.linger(failed)
	}
	s.log.Info("shutting down", "timeout", s.config.ShutdownTimeout.String())
	err = errors.Join(err, s.drain(cut, main, webhook))
	// The diagnostic address goes last, so that who watches sees the service become unready rather than vanish.
	_ = diagnostic.Close()
	running.Wait()
	disperse()
	gathered.Wait()
	s.log.Info("stopped")
	return err
}

// linger goes on answering while it reports that it is not ready, so that load balancers send nobody here any more when it ends.
func (s *Server) linger(failed <-chan error) error {
	s.log.Info("not ready any more", "drain_delay", s.config.DrainDelay.String())
	timer := time.NewTimer(s.config.DrainDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	}
}

// drain ends servers: in peace within the timeout, by cancelling what is left after it.
func (s *Server) drain(cut context.CancelCauseFunc, servers ...*http.Server) error {
	s.waiting.close()
	s.watching.close()
	peace, cancel := context.WithTimeout(context.Background(), s.config.ShutdownTimeout)
	defer cancel()
	err := shutdown(peace, servers)
	idle := s.queue.close()
	if err == nil {
		s.settle(idle)
		return nil
	}
	open, _ := s.queue.load()
	open += s.waiting.load() + s.watching.load()
	cut(errShuttingDown)
	last, cancelLast := context.WithTimeout(context.Background(), answerTime)
	defer cancelLast()
	if shutdown(last, servers) != nil {
		for _, server := range servers {
			_ = server.Close()
		}
	}
	s.settle(idle)
	return fmt.Errorf("shut down: %d requests were still open after %s and were cut off",
		open, s.config.ShutdownTimeout)
}

// shutdown ends all servers at the same time.
func shutdown(ctx context.Context, servers []*http.Server) error {
	var ending errgroup.Group
	for _, server := range servers {
		ending.Go(func() error { return server.Shutdown(ctx) })
	}
	return ending.Wait()
}

// settle waits for the handlers: connections end before them.
func (s *Server) settle(idle <-chan struct{}) {
	<-idle
	s.waiting.wait()
	s.watching.wait()
}
