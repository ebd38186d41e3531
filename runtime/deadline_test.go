package runtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A rank waits for a service that is late with the end of a phase, but not beyond half a second after its own deadline.
func TestEndOfWaiting(t *testing.T) {
	t.Parallel()
	began := time.Now()
	tests := map[string]struct{ own, phase, end time.Duration }{
		"no phase":                    {own: 10 * time.Second, end: 10*time.Second + grace},
		"phase ends first":            {own: 10 * time.Second, phase: 5 * time.Second, end: 5*time.Second + patience},
		"phase ends just before":      {own: 10 * time.Second, phase: 9 * time.Second, end: 10*time.Second + grace},
		"phase of another's deadline": {own: 10 * time.Second, phase: time.Minute, end: 10*time.Second + grace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deadline{own: began.Add(test.own)}
			if test.phase != 0 {
				d.heard(began, test.phase.Milliseconds())
			}
			assert.Equal(t, test.end, d.end().Sub(began))
		})
	}
}
