package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestWaiting(t *testing.T) {
	view := &v1.AttemptView{AttemptID: "x", Ranks: []v1.RankView{{Rank: 0, Node: "gpu-a"}, {Rank: 1, Node: "gpu-b"}, {Rank: 4, Node: "gpu-a"}, {Rank: 7}}}
	reports := &v1.Progress{Attempt: 3, AttemptID: "x", Phase: v1.PhaseReport, Missing: []int64{2, 3, 5, 6}}
	for _, test := range []struct {
		w     Waiting
		lines []string
		line  string
	}{
		{Waiting{Left: 59600 * time.Millisecond}, []string{"engine chat: reporting to http://gate, 60 s left"}, ""},
		{Waiting{Left: time.Minute, Silent: 6 * time.Second}, []string{"engine chat: no answer from http://gate for 6 s, 60 s left"}, ""},
		{
			Waiting{Progress: reports, View: view, Left: 41 * time.Second},
			[]string{
				"engine chat, attempt 3: waiting for reports, 4 of 8 ranks, 41 s left",
				"  here     gpu-a 0, 4; gpu-b 1; ? 7", "  missing  ranks 2-3, 5-6",
			},
			"engine chat, attempt 3: waiting for reports, 4 of 8 ranks, 41 s left; missing: ranks 2-3, 5-6",
		},
		{
			Waiting{Progress: reports, View: &v1.AttemptView{AttemptID: "another"}, Left: -time.Second},
			[]string{"engine chat, attempt 3: waiting for reports, 4 of 8 ranks, 0 s left", "  missing  ranks 2-3, 5-6"},
			"engine chat, attempt 3: waiting for reports, 4 of 8 ranks, 0 s left; missing: ranks 2-3, 5-6",
		},
		{
			Waiting{Progress: &v1.Progress{Attempt: 3, Phase: v1.PhaseReport}, Left: time.Second},
			[]string{"engine chat, attempt 3: waiting for reports, 8 of 8 ranks, 1 s left", "  missing  nobody; the verdict is being made"},
			"engine chat, attempt 3: waiting for reports, 8 of 8 ranks, 1 s left; missing: nobody; the verdict is being made",
		},
		{
			Waiting{Progress: &v1.Progress{Attempt: 3, Phase: v1.PhaseProbe, Missing: []int64{7}}, Left: time.Second, Silent: 6 * time.Second},
			[]string{
				"engine chat, attempt 3: probing shared memory, 7 of 8 ranks, 1 s left (the service has been silent for 6 s)",
				"  missing  rank 7",
			},
			"engine chat, attempt 3: probing shared memory, 7 of 8 ranks, 1 s left (the service has been silent for 6 s); missing: rank 7",
		},
	} {
		test.w.Engine, test.w.Server, test.w.World = "chat", "http://gate", 8
		if test.line == "" {
			test.line = test.lines[0]
		}
		assert.Equal(t, test.lines, test.w.Lines(120))
		assert.Equal(t, test.line, test.w.Line())
	}
}

// A line as long as the terminal is wide would take two rows, and the next drawing would leave one of them behind.
func TestLiveRedrawsInPlace(t *testing.T) {
	var out bytes.Buffer
	columns := 30
	live := &Live{w: &out, columns: func() int { return columns }}
	w := &Waiting{Engine: "chat", Server: "http://gate", World: 2, Left: 9 * time.Second}
	live.Draw(w)
	assert.Equal(t, "engine chat: reporting to ...\n", out.String())
	out.Reset()
	w.Progress = &v1.Progress{Attempt: 1, Phase: v1.PhaseReport, Missing: []int64{1}}
	live.Draw(w)
	assert.Equal(t, "\x1b[1A\x1b[Jengine chat, attempt 1: wa...\n  missing  rank 1\n", out.String())
	for line := range strings.Lines(out.String()[len("\x1b[1A\x1b[J"):]) {
		assert.Less(t, len(strings.TrimSuffix(line, "\n")), columns)
	}
	out.Reset()
	live.Erase()
	live.Erase()
	assert.Equal(t, "\x1b[2A\x1b[J", out.String())

	assert.Nil(t, NewLive(&out, nil), "a buffer is no terminal")
}
