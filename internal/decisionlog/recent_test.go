package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestRecentHasTheLastRecordsOfATenantAsTheyAreDelivered(t *testing.T) {
	var out bytes.Buffer
	l, err := Open(Options{Sink: Stream{W: &out}, RecentBytes: 16 << 10})
	require.NoError(t, err)
	const tenant = "team-a"
	for i := range 200 {
		engine := fmt.Sprintf("engine-%d", i%2)
		l.Record(&Record{
			DecisionID: fmt.Sprint(i), Kind: KindValidate, Engine: engine, Tenant: []string{tenant, "team-b"}[i/2%2],
			Input: &v1.Launch{Engine: v1.Engine{ID: engine, Env: map[string]string{"HF_TOKEN": "hunter2"}}},
		}, 1)
	}
	require.NoError(t, l.Close(t.Context()))
	ids := func(list []json.RawMessage) (ids []string) {
		for _, line := range list {
			assert.Contains(t, out.String(), string(line)+"\n")
			assert.NotContains(t, string(line), "hunter2")
			var r Record
			require.NoError(t, json.Unmarshal(line, &r))
			ids = append(ids, r.DecisionID)
		}
		return ids
	}
	assert.Equal(t, []string{"197", "196", "193"}, ids(l.Recent(tenant, "", 3)))
	assert.Equal(t, []string{"196", "192"}, ids(l.Recent(tenant, "engine-0", 2)))
	assert.Empty(t, l.Recent("team-c", "", 3))
	size := 0
	for _, other := range []string{tenant, "team-b"} {
		for _, line := range l.Recent(other, "", 1000) {
			size += len(line)
		}
	}
	assert.LessOrEqual(t, size, 16<<10)
	assert.Greater(t, size, 8<<10)
	assert.Empty(t, (*Log)(nil).Recent(tenant, "", 3))
}
