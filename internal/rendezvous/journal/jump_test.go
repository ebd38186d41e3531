package journal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A clock that is set forward by a day is no reason to forget what a server in this process has: nothing can have expired
// unseen, and ranks that must report again may do so too late.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	j := open(t, Options{})
	s, err := j.ensure(t.Context())
	require.NoError(t, err)
	info := s.CachedInfo()
	w := &watch{journal: j, stream: s, created: info.Created, seen: info.TimeStamp.Add(-24 * time.Hour)}
	assert.NoError(t, w.check(t.Context()))
}
