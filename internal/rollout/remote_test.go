package rollout

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy/bundle"
)

var secret = bundle.Key{Text: []byte("a secret of the platform team"), Algorithm: "HS256"}

// pack is a bundle of the naming check, signed if it is told so.
func pack(t testing.TB, prefix string, signed bool) []byte {
	t.Helper()
	packed := packFiles(t, map[string]string{"naming.rego": naming(prefix), "naming_test.rego": namingTest})
	if !signed {
		return packed
	}
	b, err := bundle.Read("b", bytes.NewReader(packed), bundle.Limits{})
	require.NoError(t, err)
	_, err = b.Sign(bundle.Signing{Key: secret})
	require.NoError(t, err)
	var again bytes.Buffer
	require.NoError(t, b.Write(&again))
	return again.Bytes()
}

func packFiles(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o644}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

// server is a bundle server whose answer a test sets.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	answer  http.HandlerFunc
	asked   int
	headers http.Header
}

func newServer(t testing.TB) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked++
		s.headers = r.Header.Clone()
		answer := s.answer
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) say(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// give serves a bundle under an ETag.
func (s *server) give(packed []byte) {
	etag := fmt.Sprintf("%q", fmt.Sprint(len(packed), packed[len(packed)/2]))
	s.say(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", etag)
		_, _ = w.Write(packed)
	})
}

func (s *server) fail(status int) {
	s.say(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// poll asks the server now, whatever pause its failures have earned it.
func poll(t testing.TB, r *Rollout) {
	t.Helper()
	for _, o := range r.origins {
		o.remote.next = time.Time{}
	}
	r.poll(t.Context())
}

func TestABundleServerIsPolled(t *testing.T) {
	s, web := newSite(t), newServer(t)
	web.give(pack(t, "bad", false))
	token := s.write("token", "secret-token\n")
	r := s.open(func(o *Options) { o.Sources, o.TokenFile = []string{web.URL + "/site.tar.gz"}, token })
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	assert.Equal(t, "Bearer secret-token", web.headers.Get("Authorization"))
	poll(t, r)
	assert.NotEmpty(t, web.headers.Get("If-None-Match"))
	assert.Equal(t, web.headers.Get("If-None-Match"), r.Status().Sources[0].ETag)

	web.give(pack(t, "evil", false))
	poll(t, r)
	assert.Equal(t, "deny", outcomeFor(t, r, "evil"))
	assert.NotContains(t, s.said.String(), "secret-token")
}

// Whatever the server does, what is in force stays, and says why there is nothing newer.
func TestABundleServerInTrouble(t *testing.T) {
	s, web := newSite(t), newServer(t)
	good := pack(t, "bad", false)
	web.give(good)
	r := s.open(func(o *Options) { o.Sources = []string{web.URL + "/site.tar.gz"} })
	inForce := r.Status().Revision
	for name, trouble := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "the server answers 500 Internal Server Error"},
		"gone":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "the server answers 404 Not Found"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/x", http.StatusFound)
		}, "it redirects to http://192.0.2.1, and only"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good[:100])
		}, "after 100 bytes: unexpected EOF"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			chunk := make([]byte, 1<<20)
			for { // only who stops reading ends it
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "the bundle has more than 33554432 bytes"},
	} {
		web.say(trouble.answer)
		poll(t, r)
		status := r.Status()
		assert.Contains(t, status.Sources[0].Error, trouble.want, name)
		assert.Equal(t, inForce, status.Revision, name)
		assert.Nil(t, status.Candidate, "%s: there is no new policy to refuse", name)
	}
	asked := web.asked
	r.poll(t.Context())
	assert.Equal(t, asked, web.asked, "a server in trouble is left alone for a while")

	for name, body := range map[string][]byte{"no bundle": []byte("<html>captive portal</html>"), "damaged": append(bytes.Clone(good[:len(good)-6]), 1, 2, 3, 4, 5, 6)} {
		web.say(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
		poll(t, r)
		require.NotNil(t, r.Status().Candidate, name)
		assert.Equal(t, v1.StageRead, r.Status().Candidate.Stage, name)
		assert.Equal(t, "deny", outcomeFor(t, r, "bad"), name)
	}
	web.give(good)
	poll(t, r)
	assert.Nil(t, r.Status().Candidate)
	assert.Empty(t, r.Status().Sources[0].Error)
}

func TestABundleServerThatHangs(t *testing.T) {
	s, web := newSite(t), newServer(t)
	good := pack(t, "bad", false)
	web.give(good)
	r := s.open(func(o *Options) { o.Sources = []string{web.URL + "/site.tar.gz"} })
	r.origins[0].remote.patience = 50 * time.Millisecond
	ended := make(chan struct{})
	defer close(ended)
	hang := func() { <-ended }
	for name, trouble := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"before the headers": {func(http.ResponseWriter, *http.Request) { hang() }, "tar.gz: no whole answer within 50ms"},
		"in the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good[:100])
			_ = http.NewResponseController(w).Flush()
			hang()
		}, "after 100 bytes: no whole answer within 50ms"},
	} {
		web.say(trouble.answer)
		poll(t, r)
		assert.Contains(t, r.Status().Sources[0].Error, trouble.want, name)
	}
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
}

func TestOnlySignedBundlesAreTaken(t *testing.T) {
	s, web := newSite(t), newServer(t)
	signed := pack(t, "bad", true)
	web.give(signed)
	r := s.open(func(o *Options) {
		o.Sources, o.Verification = []string{web.URL + "/site.tar.gz"}, &bundle.Verification{Key: secret}
	})
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	web.give(pack(t, "evil", false))
	poll(t, r)
	require.NotNil(t, r.Status().Candidate)
	assert.Contains(t, r.Status().Candidate.Findings[0].Message, "it is not signed, and only signed bundles are allowed")
	assert.Equal(t, "allow", outcomeFor(t, r, "evil"))
}

func TestTheLastGoodCopyCarriesAStart(t *testing.T) {
	s, web := newSite(t), newServer(t)
	state := filepath.Join(s.dir, "state")
	require.NoError(t, os.Mkdir(state, 0o755))
	from := func(o *Options) { o.Sources, o.StateDir = []string{web.URL + "/site.tar.gz"}, state }
	web.fail(503)
	_, err := s.tryOpen(from)
	require.ErrorContains(t, err, "the server answers 503", "nothing to decide by")

	web.give(pack(t, "bad", false))
	r := s.open(from)
	web.give([]byte("broken"))
	poll(t, r)
	web.fail(503)
	again := s.open(from)
	assert.Equal(t, "deny", outcomeFor(t, again, "bad"), "what was refused was not kept")
	poll(t, again)
	assert.True(t, again.Status().Sources[0].Kept)
	assert.Contains(t, s.said.String(), "policy begins with the last good copy")
	assert.Contains(t, again.Status().Sources[0].Error, "503")

	web.give(pack(t, "evil", false))
	poll(t, again)
	assert.Equal(t, "deny", outcomeFor(t, again, "evil"))
	assert.False(t, again.Status().Sources[0].Kept)

	copies, err := filepath.Glob(filepath.Join(state, "*"))
	require.NoError(t, err)
	require.Len(t, copies, 1, "no parts are left behind")
	require.NoError(t, os.WriteFile(copies[0], []byte("torn"), 0o644))
	assert.Equal(t, "deny", outcomeFor(t, s.open(from), "evil"), "a bad copy does not keep the service down")

	// Nor does one that the rules that ship now do not go with, where the server has a newer one.
	require.NoError(t, os.WriteFile(copies[0], packFiles(t, map[string]string{"a.rego": "package tiergate.verdict\n"}), 0o644))
	assert.Equal(t, "deny", outcomeFor(t, s.open(from), "evil"))
	require.NoError(t, os.WriteFile(copies[0], packFiles(t, map[string]string{"a.rego": "package tiergate.verdict\n"}), 0o644))
	web.fail(503)
	_, err = s.tryOpen(from)
	require.ErrorContains(t, err, "the server answers 503")
	assert.ErrorContains(t, err, "a.rego")
}

// A bundle that this service has never had in force is tested before it decides anything.
func TestAFirstBundleMustPassItsTests(t *testing.T) {
	s, web := newSite(t), newServer(t)
	web.give(pack(t, "go", false))
	_, err := s.tryOpen(func(o *Options) { o.Sources = []string{web.URL + "/site.tar.gz"} })
	require.ErrorContains(t, err, "policy: its own tests fail: ")
	assert.ErrorContains(t, err, "test_good_name")
}

// A disk that takes nothing costs the copy, not the policy.
func TestADiskThatTakesNothing(t *testing.T) {
	s, web := newSite(t), newServer(t)
	web.give(pack(t, "bad", false))
	r := s.open(func(o *Options) {
		o.Sources, o.StateDir = []string{web.URL + "/site.tar.gz"}, filepath.Join(s.write("file", ""), "state")
	})
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	poll(t, r)
	assert.Equal(t, 1, strings.Count(s.said.String(), "last good policy not kept; a start without its server would fail"), "said once")
}

func TestAPasswordInAURLStaysSecret(t *testing.T) {
	s, web := newSite(t), newServer(t)
	web.give(pack(t, "bad", false))
	url := strings.Replace(web.URL, "http://", "http://reader:hunter2@", 1) + "/site.tar.gz"
	r := s.open(func(o *Options) { o.Sources = []string{url} })
	_, password, _ := (&http.Request{Header: web.headers}).BasicAuth()
	assert.Equal(t, "hunter2", password)
	web.fail(500)
	poll(t, r)
	web.give([]byte("broken"))
	poll(t, r)
	assert.NotContains(t, fmt.Sprintf("%+v", r.Status())+s.said.String(), "hunter2")
}

func TestPut(t *testing.T) {
	s := newSite(t)
	state := filepath.Join(s.dir, "state")
	require.NoError(t, os.Mkdir(state, 0o755))
	s.write("launches/a.yaml", "engine: {id: bad-a, nnodes: 1}\n")
	bare := func(o *Options) { o.Sources, o.StateDir, o.LaunchDir = nil, state, filepath.Join(s.dir, "launches") }
	r := s.open(bare)
	info, err := r.Engine().Info()
	require.NoError(t, err)

	report, err := r.Put(t.Context(), pack(t, "bad", false), info.Digest, nil)
	require.NoError(t, err)
	assert.Equal(t, v1.StageLaunches, report.Stage)
	assert.Equal(t, "allow", outcomeFor(t, r, "bad"))
	report, err = r.Put(t.Context(), pack(t, "bad", false), info.Digest, []string{"a.yaml=deny"})
	require.NoError(t, err)
	assert.Equal(t, v1.StageActive, report.Stage, report.Findings)
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	_, err = r.Put(t.Context(), pack(t, "evil", false), info.Digest, nil)
	require.ErrorIs(t, err, ErrStale)
	report, err = r.Put(t.Context(), []byte("no bundle"), "", nil)
	require.NoError(t, err)
	assert.Equal(t, v1.StageRead, report.Stage)
	r.poll(t.Context())
	assert.Equal(t, "deny", outcomeFor(t, s.open(bare), "bad"), "what was sent outlives a restart")

	// What cannot be kept is not put in force, and what was kept and cannot be read keeps the service from starting without it.
	kept := r.sentPath()
	require.NoError(t, os.Remove(kept))
	require.NoError(t, os.MkdirAll(filepath.Join(kept, "x"), 0o755))
	_, err = r.Put(t.Context(), pack(t, "worse", false), "", []string{"a.yaml=allow"})
	require.ErrorIs(t, err, ErrNotKept)
	assert.Equal(t, "allow", outcomeFor(t, r, "worse"))
	r.poll(t.Context())
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	_, err = s.tryOpen(bare)
	require.ErrorContains(t, err, "read policy: the policy that was sent: read "+kept+": is a directory")

	_, err = s.open(func(o *Options) { o.Sources = nil }).Put(t.Context(), nil, "", nil)
	require.ErrorIs(t, err, ErrNoState)
	s.write("rules/naming.rego", naming("bad"))
	_, err = s.open(nil).Put(t.Context(), nil, "", nil)
	require.ErrorIs(t, err, ErrHasSources)
	r.trial.Lock()
	_, err = r.Put(t.Context(), nil, "", nil)
	require.ErrorIs(t, err, ErrBusy)
	r.trial.Unlock()
}
