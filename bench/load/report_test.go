package load

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	row := Row{
		Workers:  64,
		Tiergate: Result{Rate: 6000, P50: time.Millisecond, P99: 4 * time.Millisecond},
		OPA:      Result{Rate: 1000, P50: 8 * time.Millisecond, P99: 20 * time.Millisecond},
		Echo:     Result{Rate: 8000, P50: time.Millisecond, P99: 3 * time.Millisecond},
	}
	var out strings.Builder
	met, err := Report(&out, []Row{row})
	require.NoError(t, err)
	assert.True(t, met)
	assert.Equal(t, []string{"64", "tiergate", "6000", "1.00", "4.00"}, fields(out.String(), 1))
	assert.Equal(t, []string{"64", "req/s", ":", "opa's", "6.00", ">=", "6", "met"}, fields(out.String(), 6))

	for _, worsen := range []func(*Row){
		func(r *Row) { r.Tiergate.Rate = 5999 },
		func(r *Row) { r.Echo.Rate = 9000 },
		func(r *Row) { r.Tiergate.P99 = 5 * time.Millisecond },
	} {
		worse := row
		worsen(&worse)
		out.Reset()
		met, err := Report(&out, []Row{worse})
		require.NoError(t, err)
		assert.False(t, met)
		assert.Equal(t, 1, strings.Count(out.String(), "NOT met"), out.String())
	}
}

func fields(text string, line int) []string { return strings.Fields(strings.Split(text, "\n")[line]) }
