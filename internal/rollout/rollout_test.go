package rollout

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// cache keeps what the tests compile, since most of them load the same rules.
var cache string

func TestMain(m *testing.M) {
	var err error
	if cache, err = os.MkdirTemp("", "rollout"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(status)
}

// naming is a check of a site: engines of the given prefix fail.
func naming(prefix string) string {
	return `# METADATA
# title: Engines have good names
# custom:
#   enforcement: deny
#   needs: [input.engine]
package tiergate.checks.site.naming

default applies := true

violations contains {"message": $"engine {input.engine.id} has a bad name", "fix": "rename it"} if {
	startswith(input.engine.id, "` + prefix + `")
}

unknown contains fact if some fact in []
`
}

const namingTest = `package tiergate.checks.site.naming_test

import data.tiergate.checks.site.naming

test_good_name if count(naming.violations) == 0 with input as {"engine": {"id": "good"}}
`

type site struct {
	t   testing.TB
	dir string
	// said are the messages of the log.
	said *said
}

type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newSite(t testing.TB) *site { return &site{t, t.TempDir(), &said{}} }

func (s *site) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// open rolls out what a change of the options names, the site's rules if it names none.
func (s *site) open(change func(*Options)) *Rollout {
	s.t.Helper()
	r, err := s.tryOpen(change)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, r.Close(context.Background())) })
	r.settle = func(context.Context) {}
	return r
}

func (s *site) tryOpen(change func(*Options)) (*Rollout, error) {
	opts := Options{
		Sources: []string{filepath.Join(s.dir, "rules")}, Poll: time.Hour, Policy: policy.Options{CacheDir: cache, Instances: 2},
		Logger: slog.New(slog.NewTextHandler(s.said, nil)),
	}
	if change != nil {
		change(&opts)
	}
	return Open(s.t.Context(), opts)
}

func outcomeFor(t testing.TB, r *Rollout, engine string) string {
	t.Helper()
	nnodes := int64(1)
	d, err := r.Engine().Decide(t.Context(), &v1.Launch{Engine: v1.Engine{ID: engine, Nnodes: &nnodes}})
	require.NoError(t, err)
	return d.Outcome
}

// refused is the candidate that a poll refused at a stage, with what is in force as it was.
func refused(t testing.TB, r *Rollout, stage string) *v1.PolicyReport {
	t.Helper()
	before := r.Status()
	trials := r.Trials()[stage]
	r.poll(t.Context())
	after := r.Status()
	require.NotNil(t, after.Candidate)
	assert.Equal(t, stage, after.Candidate.Stage, after.Candidate.Findings)
	assert.Equal(t, before.Revision, after.Revision)
	assert.Equal(t, before.Content, after.Content)
	assert.Equal(t, trials+1, r.Trials()[stage])
	r.poll(t.Context())
	assert.Equal(t, trials+1, r.Trials()[stage], "the same content is not tried again")
	return after.Candidate
}

func TestAChangedDirectoryIsPutInForce(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	r := s.open(nil)
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	first := r.Status()
	r.poll(t.Context())
	assert.Equal(t, first.Revision, r.Status().Revision)

	s.write("rules/naming.rego", naming("evil"))
	s.write("rules/naming_test.rego", namingTest)
	r.poll(t.Context())
	assert.Equal(t, "allow", outcomeFor(t, r, "bad"))
	assert.Equal(t, "deny", outcomeFor(t, r, "evil"))
	assert.NotEqual(t, first.Revision, r.Status().Revision)
	assert.Contains(t, s.said.String(), `msg="policy activated"`)
	assert.Contains(t, s.said.String(), "tests=1")
}

func TestEveryStageRefusesAndLeavesWhatIsInForce(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	s.write("launches/a.yaml", "engine: {id: bad-a, nnodes: 1}\n")
	s.write("launches/b.yaml", "engine: {id: good-b, nnodes: 1}\n")
	s.write("launches/b.expect.yaml", "outcome: allow\n")
	data := s.write("data.yaml", "a: 1\n")
	r := s.open(func(o *Options) { o.LaunchDir, o.DataFile = filepath.Join(s.dir, "launches"), data })
	good := r.Status().Content

	s.write("rules/naming.rego", naming("bad")+"\nviolations contains 1 if input.engin.id\n\nx := opa.runtime()\n")
	report := refused(t, r, v1.StageCompile)
	assert.GreaterOrEqual(t, len(report.Findings), 2, "all reasons at once: %v", report.Findings)
	assert.Contains(t, s.said.String(), "policy refused; what is in force stays")

	s.write("rules/naming.rego", naming("bad"))
	s.write("data.yaml", "settings: {enforcement: {tiering.node_local: maybe}}\n")
	assert.Equal(t, "data.settings", refused(t, r, v1.StageCompile).Findings[0].Message[:13])
	s.write("data.yaml", "a: [")
	refused(t, r, v1.StageRead)
	s.write("data.yaml", "a: 1\n")

	s.write("rules/naming_test.rego", strings.Replace(namingTest, `"good"`, `"bad"`, 1))
	report = refused(t, r, v1.StageTests)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, "test_failed", report.Findings[0].Code)
	assert.Contains(t, report.Findings[0].Message, "test_good_name: fail")
	s.write("rules/naming_test.rego", namingTest)

	s.write("rules/naming.rego", naming("go"))
	s.write("rules/naming_test.rego", "package tiergate.checks.site.naming_test\n")
	report = refused(t, r, v1.StageLaunches)
	assert.Equal(t, []v1.PolicyFinding{
		{File: "a.yaml", Code: "verdict_flips", Message: "site.naming fail -> pass, verdict deny -> allow; if that is meant, accept it by name: a.yaml=allow"},
		{File: "b.yaml", Code: "verdict_flips", Message: "site.naming pass -> fail, verdict allow -> deny; if that is meant, accept it by name: b.yaml=deny"},
	}, report.Findings)
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	assert.Equal(t, good, r.Status().Content)

	// An author accepts one flip by name, in the data that comes with the rules, and the operator the other.
	s.write("rules/settings/data.yaml", "accept_flips: [a.yaml=allow, b.yaml=allow]\n")
	assert.Len(t, refused(t, r, v1.StageLaunches).Findings, 1, "the new outcome is part of the name")
	r.opts.Accept = []string{"b.yaml=deny"}
	s.write("rules/note.rego", "package site.note\n")
	r.poll(t.Context())
	assert.Nil(t, r.Status().Candidate)
	assert.Equal(t, "allow", outcomeFor(t, r, "bad"))

	s.write("rules/naming.rego", "package broken {")
	refused(t, r, v1.StageCompile)
	s.write("rules/naming.rego", naming("go"))
	r.poll(t.Context())
	assert.Nil(t, r.Status().Candidate, "what was refused is gone again")
	assert.Contains(t, s.said.String(), "refused policy is gone")
}

func TestASourceThatCannotBeRead(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	r := s.open(nil)
	require.NoError(t, os.Rename(filepath.Join(s.dir, "rules"), filepath.Join(s.dir, "away")))
	report := refused(t, r, v1.StageRead)
	assert.Contains(t, report.Findings[0].Message, "no such file or directory")
	assert.Contains(t, r.Status().Sources[0].Error, "no such file or directory")
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "rules"), 0o755))
	assert.Equal(t, "empty_source", refused(t, r, v1.StageRead).Findings[0].Code, "a mount that failed takes no rules away")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "rules")))
	require.NoError(t, os.Rename(filepath.Join(s.dir, "away"), filepath.Join(s.dir, "rules")))
	r.poll(t.Context())
	assert.Nil(t, r.Status().Candidate)
	assert.Empty(t, r.Status().Sources[0].Error)
}

// Kubernetes mounts a ConfigMap as links into a folder that ..data names, and swaps that link.
func TestAConfigMapIsReadWhole(t *testing.T) {
	s := newSite(t)
	mount := func(revision, prefix string) {
		s.write("rules/.."+revision+"/naming.rego", naming(prefix))
		s.write("rules/.."+revision+"/settings.rego", "package site.revision\n\nname := \""+revision+"\"\n")
		require.NoError(t, os.Symlink(".."+revision, filepath.Join(s.dir, "rules/..new")))
		require.NoError(t, os.Rename(filepath.Join(s.dir, "rules/..new"), filepath.Join(s.dir, "rules/..data")))
	}
	mount("r1", "bad")
	for _, name := range []string{"naming.rego", "settings.rego"} {
		require.NoError(t, os.Symlink("..data/"+name, filepath.Join(s.dir, "rules", name)))
	}
	r := s.open(nil)
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	mount("r2", "evil")
	r.poll(t.Context())
	assert.Equal(t, "deny", outcomeFor(t, r, "evil"))
	assert.Equal(t, "allow", outcomeFor(t, r, "bad"))
}

// timeless leaves out when sources were read.
func timeless(s v1.PolicyStatus) v1.PolicyStatus {
	for i := range s.Sources {
		s.Sources[i].Read = time.Time{}
	}
	return s
}

// Files that are still being written are left alone until they stay as they are.
func TestAChangeMustSettle(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	r := s.open(nil)
	before := timeless(r.Status())
	s.write("rules/naming.rego", naming("half"))
	r.settle = func(context.Context) { s.write("rules/naming.rego", naming("whole")) }
	r.poll(t.Context())
	assert.Equal(t, before, timeless(r.Status()), "what was seen at first is not tried")
	r.poll(t.Context())
	assert.Equal(t, "deny", outcomeFor(t, r, "whole"))
	assert.Equal(t, "allow", outcomeFor(t, r, "half"))
}

// A mount whose link is swapped all the time, with the old folder gone at once, is never read half and half.
func TestAConfigMapThatIsSwappedWhileItIsRead(t *testing.T) {
	s := newSite(t)
	link := filepath.Join(s.dir, "rules/..data")
	mount := func(n int) {
		old, _ := os.Readlink(link)
		revision := fmt.Sprint("..r", n)
		for _, name := range []string{"a", "b"} {
			s.write("rules/"+revision+"/"+name+"/data.yaml", fmt.Sprintf("revision: %d\n", n))
		}
		s.write("rules/"+revision+"/a_test.rego", "package site.a_test\n\ntest_whole if data.a.revision == data.b.revision\n")
		require.NoError(t, os.Symlink(revision, link+"_tmp"))
		require.NoError(t, os.Rename(link+"_tmp", link))
		if old != "" {
			require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "rules", old)))
		}
	}
	mount(0)
	r := s.open(nil)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
				mount(n)
			}
		}
	}()
	for range 8 {
		r.poll(t.Context())
	}
	close(stop)
	<-stopped
	r.poll(t.Context())
	assert.Nil(t, r.Status().Candidate)
	assert.NotContains(t, s.said.String(), "policy refused")
	assert.GreaterOrEqual(t, r.Trials()[v1.StageActive], int64(2), "the last one is in force at the latest")
}

// While revisions alternate, every answer is whole: its check is the one of the revision that it names.
func TestNoAnswerMixesRevisions(t *testing.T) {
	s := newSite(t)
	prefixes := []string{"one", "two"}
	s.write("rules/naming.rego", naming(prefixes[0]))
	r := s.open(nil)
	var mu sync.Mutex
	deniedBy := map[string]string{r.Status().Revision: prefixes[0]}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	type answer struct{ engine, revision, outcome string }
	answers := make([][]answer, 4)
	for i := range answers {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				engine := fmt.Sprint(prefixes[n%2], "-", i, "-", n)
				nnodes := int64(1)
				d, err := r.Engine().Decide(context.Background(), &v1.Launch{Engine: v1.Engine{ID: engine, Nnodes: &nnodes}})
				if !assert.NoError(t, err) {
					return
				}
				answers[i] = append(answers[i], answer{engine, d.Revision, d.Outcome})
			}
		})
	}
	for i := 1; i <= 10; i++ {
		prefix := prefixes[i%2]
		s.write("rules/naming.rego", naming(prefix))
		r.poll(t.Context())
		mu.Lock()
		deniedBy[r.Status().Revision] = prefix
		mu.Unlock()
	}
	stop()
	running.Wait()
	require.Len(t, deniedBy, 2)
	seen := map[string]int{}
	for _, a := range slices.Concat(answers...) {
		prefix, known := deniedBy[a.revision]
		require.True(t, known, a.revision)
		want := "allow"
		if strings.HasPrefix(a.engine, prefix) {
			want = "deny"
		}
		require.Equal(t, want, a.outcome, a)
		seen[a.revision]++
	}
	assert.Len(t, seen, 2, "answers came from both revisions")
}

// What is half written may not even be readable.
func TestWhatIsUnreadableForAMomentIsNotRefused(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	s.write("rules/data.yaml", "a: [")
	_, err := s.tryOpen(nil)
	require.Error(t, err)
	s.write("rules/data.yaml", "a: []")
	r := s.open(nil)
	s.write("rules/data.yaml", "a: [")
	r.settle = func(context.Context) { s.write("rules/data.yaml", "a: [1]") }
	r.poll(t.Context())
	assert.Nil(t, r.Status().Candidate)
	assert.NotContains(t, s.said.String(), "refused")
	r.settle = func(context.Context) {}
	s.write("rules/data.yaml", "a: [")
	refused(t, r, v1.StageRead)
}

// Files may have changed while the service was down, so that a start is a trial, too.
func TestAStartRunsTheTests(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("go"))
	s.write("rules/naming_test.rego", namingTest)
	_, err := s.tryOpen(nil)
	require.ErrorContains(t, err, "policy: its own tests fail: "+filepath.Join(s.dir, "rules/naming_test.rego")+":5: ")
	r := s.open(func(o *Options) { o.Untested = true })
	assert.Equal(t, "deny", outcomeFor(t, r, "good"), "what decides nothing needs no tests")
	s.write("rules/naming.rego", "package broken {")
	refused(t, r, v1.StageCompile)
	assert.Equal(t, "deny", outcomeFor(t, r, "good"))
}

// A policy that stored launches stood against is tried again when they change.
func TestChangedLaunchesAreAnotherTrial(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	launch := s.write("launches/a.yaml", "engine: {id: bad-a, nnodes: 1, typo: 1}\n")
	r := s.open(func(o *Options) { o.LaunchDir = filepath.Join(s.dir, "launches") })
	assert.Contains(t, s.said.String(), "stored launches cannot be read; no change of policy passes until they can")
	s.write("rules/naming.rego", naming("evil"))
	assert.Contains(t, refused(t, r, v1.StageLaunches).Findings[0].Message, "stored launch a.yaml: ")
	s.write("launches/a.yaml", "engine: {id: bad-a, nnodes: 1}\n")
	assert.Equal(t, "verdict_flips", refused(t, r, v1.StageLaunches).Findings[0].Code)
	require.NoError(t, os.Remove(launch))
	r.poll(t.Context())
	assert.Nil(t, r.Status().Candidate)
	assert.Equal(t, "deny", outcomeFor(t, r, "evil"))
}

// A trial that has no more time refuses, and the policy that took it is not tried again until it changes.
func TestATrialEnds(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	s.write("launches/a.yaml", "engine: {id: good, nnodes: 1}\n")
	r := s.open(func(o *Options) { o.LaunchDir = filepath.Join(s.dir, "launches") })
	r.opts.Timeout = time.Nanosecond
	s.write("rules/naming.rego", naming("evil"))
	r.poll(t.Context())
	require.NotNil(t, r.Status().Candidate)
	assert.Contains(t, r.Status().Candidate.Findings[0].Message, "the trial took more than 1ns")
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
}

func TestRunLooksUntilItIsStopped(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	r := s.open(func(o *Options) { o.Poll = 10 * time.Millisecond })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	s.write("rules/naming.rego", naming("evil"))
	require.Eventually(t, func() bool { return outcomeFor(t, r, "evil") == "deny" }, 30*time.Second, time.Millisecond)
	stop()
	<-ended
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	o := Options{
		Sources: []string{"http://bundles.example/a.tar.gz", "https://u:secret@bundles.example/b.tar.gz", "http://127.0.0.1/c.tar.gz", "https:///x"},
		Accept:  []string{"a.yaml", "=deny", "a.yaml=maybe", "a.yaml=deny"},
	}
	const form = " names no flip; write a stored launch's file and the new outcome of its verdict, e.g. fleet-a.yaml=deny"
	assert.EqualError(t, o.Validate(), strings.Join([]string{
		`policy_accept: "a.yaml"` + form, `policy_accept: "=deny"` + form, `policy_accept: "a.yaml=maybe"` + form,
		"policy: whoever is between here and http://bundles.example/a.tar.gz could change the rules; use https, or verification_key",
		"policy: a URL of a bundle is http(s)://host/path",
	}, "\n"))
	o = Options{Sources: []string{"http://bundles.example/a.tar.gz"}, TokenFile: "t"}
	assert.EqualError(t, o.Validate(), "policy: the token for http://bundles.example/a.tar.gz would cross the network in the open; use https")
	o = Options{Sources: []string{"rules"}, TokenFile: "t", CAFile: "c"}
	assert.EqualError(t, o.Validate(), "policy_token: it is for policies that are fetched, and policy names no URL; leave it out\n"+
		"policy_ca: it is for policies that are fetched, and policy names no URL; leave it out")
}
