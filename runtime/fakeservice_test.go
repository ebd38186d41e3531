package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// fakeService speaks the protocol for one engine at a time. It gathers, compares nonces and folds as the real one does,
// for ranks that come once each.
type fakeService struct {
	world int64
	phase time.Duration
	// outcome and probe are the verdict's; probe nil means all reported groups.
	outcome string
	noProbe bool
	// tamper may change every 200 before it is sent.
	tamper func(rank int64, p *v1.Progress)
	// intercept may answer instead.
	intercept func(w http.ResponseWriter, r *http.Request) bool
	core      *v1.CoreAdmission

	mu      sync.Mutex
	changed chan struct{}
	attempt int64
	until   time.Time
	reports map[int64]*v1.Report
	probes  map[int64]*v1.Probe
	end     *v1.AttemptEnd
	calls   []string
	sent    []string
	revoked []v1.Revocation
}

func newFake(world int64) *fakeService {
	s := &fakeService{world: world, phase: 45 * time.Second, outcome: v1.Unknown, changed: make(chan struct{})}
	s.forget()
	return s
}

// forget is what a restart does to a service that keeps its attempts in memory.
func (s *fakeService) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt++
	s.until, s.end = time.Time{}, nil
	s.reports, s.probes = map[int64]*v1.Report{}, map[int64]*v1.Probe{}
	s.signal()
}

func (s *fakeService) finish(end v1.AttemptEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end.Attempt, end.AttemptID = s.attempt, s.id()
	s.end = &end
	s.signal()
}

func (s *fakeService) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *fakeService) id() string { return "attempt-" + strconv.FormatInt(s.attempt, 10) }

func (s *fakeService) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// bodies are what was sent to paths that end so.
func (s *fakeService) bodies(end string) (all string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sent := range s.sent {
		if path, body, _ := strings.Cut(sent, " "); strings.HasSuffix(path, end) {
			all += body
		}
	}
	return all
}

// nonce is what a rank read of its first segment.
func (s *fakeService) nonce(rank int64) string { return s.probes[rank].Answers[0].Nonce }

func (s *fakeService) revocations() []v1.Revocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.revoked)
}

func (s *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.EscapedPath())
	s.sent = append(s.sent, r.URL.Path+" "+string(body))
	s.mu.Unlock()
	if s.intercept != nil && s.intercept(w, r) {
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/engines/{engine}/ranks/{rank}", s.report)
	mux.HandleFunc("PUT /v1/engines/{engine}/attempts/{n}/ranks/{rank}/probe", s.probe)
	mux.HandleFunc("PUT /v1/engines/{engine}/attempts/{n}/core", s.serveCore)
	mux.HandleFunc("DELETE /v1/engines/{engine}/attempts/{n}", s.revoke)
	mux.HandleFunc("GET /v1/engines/{engine}", s.view)
	mux.ServeHTTP(w, r)
}

func (s *fakeService) report(w http.ResponseWriter, r *http.Request) {
	report := new(v1.Report)
	rank := s.body(r, report)
	s.mu.Lock()
	if s.until.IsZero() {
		s.until = time.Now().Add(s.phase)
	}
	s.reports[rank] = report
	s.signal()
	s.mu.Unlock()
	s.await(w, r, rank, func() bool { return int64(len(s.reports)) == s.world }, func(p *v1.Progress) {
		p.Verdict = s.verdict()
		if int64(len(s.probes)) == s.world {
			p.Admission = s.admit(rank)
			return
		}
		for _, kind := range probedKinds {
			ranks := report.Groups[kind]
			if len(ranks) < 2 || len(p.Verdict.Probe) == 0 {
				continue
			}
			open := v1.OpenSegment{Kind: kind, Leader: ranks[0]}
			if leader := s.reports[ranks[0]]; leader.Segment != nil {
				open.Name = leader.Segment.Name
			}
			p.Segments = append(p.Segments, open)
		}
	})
}

func (s *fakeService) probe(w http.ResponseWriter, r *http.Request) {
	answers := new(v1.Probe)
	rank := s.body(r, answers)
	s.mu.Lock()
	forgotten := answers.AttemptID != s.id() || s.reports[rank] == nil
	if !forgotten {
		s.probes[rank] = answers
		s.signal()
	}
	s.mu.Unlock()
	if forgotten {
		refuse(w, &v1.Problem{Status: http.StatusGone, Code: v1.CodeAttemptGone, Detail: "not known any more"})
		return
	}
	s.await(w, r, rank, func() bool { return int64(len(s.probes)) == s.world }, func(p *v1.Progress) { p.Admission = s.admit(rank) })
}

// await answers when there is what the rank waits for, when the attempt ended, or when the rank waits no longer.
func (s *fakeService) await(w http.ResponseWriter, r *http.Request, rank int64, done func() bool, fill func(*v1.Progress)) {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil {
		panic(err)
	}
	attempt := int64(0)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := false; ; {
		s.mu.Lock()
		if attempt == 0 {
			attempt = s.attempt
		}
		left := time.Until(s.until)
		p := &v1.Progress{Attempt: s.attempt, AttemptID: s.id(), Phase: v1.PhaseReport, RemainingMS: left.Milliseconds()}
		for missing := range s.world {
			if s.reports[missing] == nil {
				p.Missing = append(p.Missing, missing)
			}
		}
		end, ready, changed := s.end, done(), s.changed
		if ready {
			fill(p)
		}
		if end == nil && !ready && left <= 0 {
			end = &v1.AttemptEnd{
				Attempt: s.attempt, AttemptID: s.id(), Kind: v1.EndTimedOut, Ranks: p.Missing, Message: fmt.Sprintf("ranks %v are missing", p.Missing),
			}
		}
		gone := attempt != s.attempt
		s.mu.Unlock()
		switch {
		case gone:
			refuse(w, &v1.Problem{Status: http.StatusGone, Code: v1.CodeAttemptGone, Detail: "not known any more"})
			return
		case end != nil:
			refuse(w, &v1.Problem{Status: http.StatusConflict, Code: end.Kind, Detail: end.Message, End: end})
			return
		case ready:
			if s.tamper != nil {
				s.tamper(rank, p)
			}
			reply(w, http.StatusOK, p)
			return
		case over:
			reply(w, http.StatusAccepted, p)
			return
		}
		phase := time.NewTimer(left)
		select {
		case <-changed:
		case <-phase.C:
		case <-timer.C:
			over = true
		case <-r.Context().Done():
			return
		}
		phase.Stop()
	}
}

func (s *fakeService) verdict() *v1.Verdict {
	v := &v1.Verdict{Outcome: s.outcome, Checks: []v1.CheckResult{}, Probe: []v1.Group{}}
	seen := map[string]bool{}
	for _, rank := range slices.Sorted(maps.Keys(s.reports)) {
		for _, kind := range probedKinds {
			ranks := s.reports[rank].Groups[kind]
			if len(ranks) > 1 && !seen[fmt.Sprint(kind, ranks)] && !s.noProbe {
				seen[fmt.Sprint(kind, ranks)] = true
				v.Probe = append(v.Probe, v1.Group{Kind: kind, Ranks: ranks})
			}
		}
	}
	return v
}

// admit folds, with the same text for all ranks.
func (s *fakeService) admit(rank int64) *v1.Admission {
	a := &v1.Admission{Outcome: v1.Allow, Attempt: s.attempt, AttemptID: s.id()}
	for _, g := range s.verdict().Probe {
		group := v1.ProbedGroup{Kind: g.Kind, Ranks: g.Ranks, Outcome: v1.Shared, Facts: v1.Unknown}
		for _, member := range g.Ranks {
			if outcome := s.judge(g, member); outcome != v1.Shared {
				group.Outcome, a.Outcome, a.Code = outcome, v1.Reject, "probe"
				a.Message += fmt.Sprintf("rank %d of %s %v: %s; ", member, g.Kind, g.Ranks, outcome)
			}
		}
		a.Groups = append(a.Groups, group)
	}
	if s.outcome == v1.Deny {
		a.Outcome, a.Code, a.Message = v1.Reject, "tiering.node_local", "denied"
	}
	report := s.reports[rank]
	digest, err := report.Configuration.Digest()
	if err != nil {
		panic(err)
	}
	a.Rank = &v1.AdmittedRank{Rank: rank, Incarnation: report.Incarnation, ConfigurationDigest: digest}
	if report.Segment != nil {
		a.Rank.SegmentSHA256 = report.Segment.SHA256
	}
	return a
}

func (s *fakeService) judge(g v1.Group, member int64) string {
	for _, answer := range s.probes[member].Answers {
		if answer.Kind != g.Kind {
			continue
		}
		nonce, _ := hex.DecodeString(answer.Nonce)
		sum := sha256.Sum256(nonce)
		segment := s.reports[g.Ranks[0]].Segment
		if answer.Outcome == v1.Shared && (segment == nil || segment.SHA256 != hex.EncodeToString(sum[:])) {
			return "forged"
		}
		return answer.Outcome
	}
	return "unanswered"
}

func (s *fakeService) serveCore(w http.ResponseWriter, r *http.Request) {
	s.body(r, new(v1.CoreReport))
	reply(w, http.StatusOK, s.core)
}

func (s *fakeService) revoke(w http.ResponseWriter, r *http.Request) {
	var revocation v1.Revocation
	s.body(r, &revocation)
	s.mu.Lock()
	s.revoked = append(s.revoked, revocation)
	s.mu.Unlock()
	s.finish(v1.AttemptEnd{Kind: v1.EndRevoked, Message: revocation.Reason})
	reply(w, http.StatusOK, s.end)
}

func (s *fakeService) view(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := v1.AttemptView{Engine: r.PathValue("engine"), Attempt: s.attempt, AttemptID: s.id(), Phase: v1.PhaseReport}
	for rank, report := range s.reports {
		view.Ranks = append(view.Ranks, v1.RankView{Rank: rank, Incarnation: report.Incarnation})
	}
	reply(w, http.StatusOK, v1.EngineView{Engine: view.Engine, Attempts: []v1.AttemptView{view}})
}

func (s *fakeService) body(r *http.Request, into any) (rank int64) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		panic(err)
	}
	rank, _ = strconv.ParseInt(r.PathValue("rank"), 10, 64)
	return rank
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, p *v1.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
