package faults

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// startTime is what processes may take to start on a machine that is busy with other tests.
const startTime = 60 * time.Second

// site is what cells run on.
type site struct {
	lab *hosttest.Lab
	// gpu is the machine of all ranks that nothing happens to, so that whatever is admitted is admitted on the merits.
	gpu *hosttest.Host
	// service is the one of cells that do it no harm.
	service *service
	// tap stands before that service for those who go through it.
	tap    *hosttest.Wiretap
	client *http.Client
	// worker and binary are programs, cache is where services find compiled policies.
	worker, binary, cache string
	// starting has a place for each cell that starts processes: so many that all processors work, but not so many that
	// starting takes a part of the deadlines worth mentioning.
	starting chan struct{}
}

func newSite(t testing.TB) *site {
	t.Helper()
	lab := hosttest.New(t)
	self, err := os.Executable()
	require.NoError(t, err)
	// Workers of other users cannot run it where Go put it.
	path := filepath.Join(files, "worker")
	if _, err := os.Stat(path); err != nil {
		out, err := exec.Command("cp", self, path).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	s := &site{
		lab: lab, gpu: lab.Host(t, "gpu", hosttest.Shm{}), worker: path, binary: tiergate(t),
		client: &http.Client{Transport: &http.Transport{DialContext: lab.Dial, DisableKeepAlives: true}},
		cache:  t.TempDir(), starting: make(chan struct{}, 2),
	}
	s.service = s.serve(t, s.binary, os.Environ())
	s.tap = lab.Wiretap(t, s.service.url)
	return s
}

// service is a running service on a host of its own.
type service struct {
	site    *site
	host    *hosttest.Host
	binary  string
	env     []string
	process *hosttest.Process
	url     string
}

// serve starts a service and waits until it is ready.
func (s *site) serve(t testing.TB, binary string, env []string) *service {
	t.Helper()
	svc := &service{site: s, host: s.lab.Host(t, "control", hosttest.Shm{}), binary: binary, env: env}
	svc.url = "http://" + svc.host.Address + ":8642"
	svc.start(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the service:\n%s", svc.process.Stderr.String())
		}
	})
	return svc
}

func (s *service) start(t testing.TB) {
	t.Helper()
	s.process = s.host.Start(t, hosttest.Command{
		Path: s.binary, Env: append(slices.Clone(s.env), "HOME=/nonexistent"),
		Args: []string{"serve", "--addr", s.host.Address + ":8642", "--allow-unauthenticated", "--cache-dir", s.site.cache},
	})
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	s.process.Stdout.Await(ctx, t, "listens on")
	await(ctx, t, func() (bool, any) {
		status, answer := s.get(ctx, "/health/ready")
		return status == http.StatusOK, string(answer)
	})
}

// await asks until the answer is yes. Between tries there is a pause, because there is nothing to wait on.
func await(ctx context.Context, t testing.TB, ask func() (yes bool, seen any)) {
	t.Helper()
	for {
		yes, seen := ask()
		if yes {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(t, ctx.Err().Error(), "last seen: %+v", seen)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// get returns the status 0 where there is no answer.
func (s *service) get(ctx context.Context, path string) (status int, answer []byte) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		panic(err) // the paths are names of engines
	}
	response, err := s.site.client.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return 0, nil
	}
	return response.StatusCode, answer
}

// attempt is the last one of an engine, or nil if there is none.
func (s *service) attempt(ctx context.Context, engine string) *v1.AttemptView {
	var view v1.EngineView
	status, text := s.get(ctx, "/v1/engines/"+engine)
	if status != http.StatusOK || json.Unmarshal(text, &view) != nil || len(view.Attempts) == 0 {
		return nil
	}
	return &view.Attempts[0]
}
