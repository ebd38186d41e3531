package e2e

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/hosttest"
)

// startTime is what a process may take to start on a machine that is busy with other tests.
const startTime = 30 * time.Second

// site is what a test runs on: hosts of several kinds and a service on a host of its own, behind a wiretap.
type site struct {
	lab *hosttest.Lab
	// places are the hosts by the letter that stands for them in placements.
	places map[rune]place
	serves *hosttest.Host
	worker string
}

// place is a host with the name of its memory: those with the same name see one /dev/shm.
type place struct {
	host   *hosttest.Host
	memory string
	// sharable is false where the memory is none that a region can be shared in.
	sharable bool
}

// newSite builds three machines A, B and C, a second pod P and a container S with the same /dev/shm as A on the machine of
// A, and a machine D whose /dev/shm is no tmpfs.
func newSite(t testing.TB) *site {
	t.Helper()
	lab := hosttest.New(t)
	a := lab.Host(t, "gpu-a", hosttest.Shm{})
	return &site{
		lab:    lab,
		serves: lab.Host(t, "control", hosttest.Shm{}),
		worker: workerBinary(t),
		places: map[rune]place{
			'A': {a, "a", true},
			'B': {lab.Host(t, "gpu-b", hosttest.Shm{}), "b", true},
			'C': {lab.Host(t, "gpu-c", hosttest.Shm{}), "c", true},
			'P': {a.Pod(t, "pod-p", hosttest.Shm{}), "p", true},
			'S': {a.Container(t, "container-s"), "a", true},
			'D': {lab.Host(t, "gpu-d", hosttest.Shm{NotTmpfs: true}), "d", false},
		},
	}
}

// service is a running service.
type service struct {
	process *hosttest.Process
	url     string
	tap     *hosttest.Wiretap
}

// serve starts a service on the site's host for it and waits until it is ready.
func (s *site) serve(t testing.TB, binary string, port int, flags ...string) *service {
	t.Helper()
	address := s.serves.Address + ":" + strconv.Itoa(port)
	p := s.serves.Start(t, hosttest.Command{
		Path: binary, Env: append(os.Environ(), "TMPDIR="+t.TempDir()), // it is killed in the end
		Args: append([]string{"serve", "--addr", address, "--allow-unauthenticated", "--log-level", "debug"}, flags...),
	})
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	p.Stdout.Await(ctx, t, "listens on")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the service:\n%s", p.Stderr.String())
		}
	})
	svc := &service{process: p, url: "http://" + address}
	svc.tap = s.lab.Wiretap(t, svc.url)
	s.ready(ctx, t, svc)
	return svc
}

// ready waits until the service says that it is.
func (s *site) ready(ctx context.Context, t testing.TB, svc *service) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: s.lab.Dial}}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, svc.url+"/health/ready", nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err, "the service listens")
		require.NoError(t, response.Body.Close())
		if response.StatusCode == http.StatusOK {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(t, "the service is not ready", svc.process.Stderr.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
