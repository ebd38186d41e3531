package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answering makes a contender that answers one outcome and counts its decisions.
func answering(name, outcome string, decisions *int) Contender {
	return Contender{Name: name, Decide: func(context.Context, []byte) ([]byte, error) {
		*decisions++
		return []byte(`{"outcome":"` + outcome + `"}`), nil
	}}
}

func TestMeasureGivesEachContenderItsTurns(t *testing.T) {
	var first, second int
	contenders := []Contender{answering("first", "allow", &first), answering("second", "allow", &second)}
	times, err := Measure(context.Background(), contenders, nil, Effort{Rounds: 3})
	require.NoError(t, err)
	assert.Len(t, times, 2)
	// Once to compare the answers, once to size the turns, and three turns of at least one.
	assert.Equal(t, 5, first)
	assert.Equal(t, 5, second)
}

func TestMeasureRefusesContendersThatDisagree(t *testing.T) {
	var n int
	contenders := []Contender{answering("first", "allow", &n), answering("second", "deny", &n)}
	_, err := Measure(context.Background(), contenders, nil, Effort{Rounds: 1})
	require.EqualError(t, err,
		`second answers "deny" where first answers "allow": both must be right before they are compared`)

	broken := errors.New("broken")
	contenders[1].Decide = func(context.Context, []byte) ([]byte, error) { return nil, broken }
	_, err = Measure(context.Background(), contenders, nil, Effort{Rounds: 1})
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "second: broken")
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 0, Median([]int{}))
	assert.Equal(t, 7, Median([]int{7}))
	assert.Equal(t, 3, Median([]int{9, 1, 3}))
	assert.Equal(t, 2, Median([]int{4, 1, 3, 2}), "the lower of two")
}

// sound is a comparison that meets every requirement by exactly what is needed, and by growing linearly.
func sound() []Row {
	var rows []Row
	for _, variant := range []Variant{OK, Bad} {
		for _, workers := range Sizes {
			ours := time.Duration(workers) * time.Microsecond
			rows = append(rows, Row{
				Workers: workers, Variant: variant, Ours: ours,
				Interpreter: time.Duration(float64(ours) * required[workers]), OPAWasm: ours + 1,
			})
		}
	}
	return rows
}

func TestReport(t *testing.T) {
	for _, c := range []struct {
		name   string
		worsen func([]Row)
		unmet  string
	}{
		{"all met", func([]Row) {}, ""},
		{"interpreter too near", func(r []Row) { r[2].Interpreter-- }, "ok 512 512.0"},
		{"wasm not slower", func(r []Row) { r[4].OPAWasm = r[4].Ours }, "bad 8 8.0"},
		{"growth", func(r []Row) {
			for i := range r {
				if r[i].Workers == 4096 && r[i].Variant == Bad {
					r[i].Ours, r[i].Interpreter, r[i].OPAWasm = r[i].Ours*13/10, r[i].Interpreter*2, r[i].OPAWasm*2
				}
			}
		}, "growth of tiergate from 64 to 4096 workers, bad: 1.30 of linear"},
	} {
		rows := sound()
		c.worsen(rows)
		var out strings.Builder
		met, err := Report(&out, rows)
		require.NoError(t, err)
		assert.Equal(t, c.unmet == "", met, c.name)
		var unmet []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "NOT met") {
				unmet = append(unmet, strings.Join(strings.Fields(line), " "))
			}
		}
		if c.unmet == "" {
			assert.Empty(t, unmet)
			continue
		}
		require.Len(t, unmet, 1, c.name)
		assert.Contains(t, unmet[0], c.unmet)
	}
}

func TestReportWithoutRowsMeetsNothing(t *testing.T) {
	met, err := Report(new(strings.Builder), nil)
	require.NoError(t, err)
	assert.False(t, met)
}
