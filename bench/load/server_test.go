package load

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain makes the test binary a server too: with -serve and an address it answers, with -fail it ends at once.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "-serve":
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[2], handler)) //nolint:gosec // lives as long as one test
		os.Exit(1)
	case len(os.Args) == 2 && os.Args[1] == "-fail":
		fmt.Fprintln(os.Stderr, "no such policy")
		os.Exit(2)
	}
	os.Exit(m.Run())
}

func TestStartedServerAnswersUntilItIsStopped(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	server, err := Start(context.Background(), program, func(addr string) []string { return []string{"-serve", addr} })
	require.NoError(t, err)
	request := Request{Addr: server.Addr, Path: "/v1/validate"}
	body, err := Fetch(context.Background(), request)
	require.NoError(t, err)
	assert.Equal(t, "/v1/validate", string(body))

	require.NoError(t, server.Stop())
	_, err = Fetch(context.Background(), request)
	require.ErrorContains(t, err, "connect: ")
}

func TestStartTellsWhyAServerEnded(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	_, err = Start(context.Background(), program, func(string) []string { return []string{"-fail"} })
	require.ErrorContains(t, err, "it ended: exit status 2: no such policy")

	_, err = Start(context.Background(), "./no-such-program", func(string) []string { return nil })
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTailKeepsTheEnd(t *testing.T) {
	var log tail
	for i := range 1000 {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	assert.Len(t, log.bytes(), tailBytes)
	assert.Contains(t, string(log.bytes()), "line 999\n")
}
