package runtime

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	experiment "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		opts Options
		want string
	}{
		"short deadline":   {Options{Deadline: time.Second - 1}, "deadline is 999.999999ms, allowed are 1s to 1h0m0s"},
		"long deadline":    {Options{Deadline: time.Hour + 1}, "allowed are"},
		"no scheme":        {Options{URL: "gpu-a:8642"}, `service address "gpu-a:8642"`},
		"other scheme":     {Options{URL: "ftp://gpu-a"}, "write http://host:port, https://host:port or unix:///path/to/socket"},
		"query":            {Options{URL: "http://gpu-a?x=1"}, "write http://"},
		"relative socket":  {Options{URL: "unix://run/socket"}, "write http://"},
		"unparsable":       {Options{URL: "http://gpu-a:x"}, "invalid port"},
		"password in vain": {Options{URL: "http://"}, "write http://"},
	} {
		_, err := New(test.opts)
		assert.ErrorContains(t, err, test.want, name)
	}
	for _, url := range []string{"", "https://gpu-a", "http://[::1]:8642/prefix/", "unix:///run/tiergate.sock"} {
		_, err := New(Options{URL: url})
		assert.NoError(t, err, url)
	}
}

// Mistakes of the caller are told at once, before anything is sent.
func TestMembershipsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		alter func(m *Membership)
		want  string
	}{
		"no world":            {func(m *Membership) { m.WorldSize = 0 }, "world size is 0"},
		"negative rank":       {func(m *Membership) { m.Rank = -1 }, "rank -1 is not in a world of 2"},
		"global rank":         {func(m *Membership) { m.Rank = 2 }, "rank 2 is not in a world of 2: ranks are those within the replica"},
		"negative replica":    {func(m *Membership) { m.DataParallelRank = -1 }, "data parallel rank is -1"},
		"group of others":     {func(m *Membership) { m.Groups["tp"] = []int64{1} }, "group tp [1] does not contain rank 0"},
		"empty group":         {func(m *Membership) { m.Groups["tp"] = []int64{} }, "group tp [] does not contain rank 0"},
		"rank out of world":   {func(m *Membership) { m.Groups["pp"] = []int64{0, 2} }, "group pp [0 2] is not in a world of 2"},
		"negative group rank": {func(m *Membership) { m.Groups["pcp"] = []int64{0, -2} }, "group pcp [0 -2] is not in a world of 2"},
		"no group":            {func(m *Membership) { m.Groups = nil }, "there is no tp group, but engine.parallel has 2 ranks in one"},
		"command":             {func(m *Membership) { m.Engine.Command = []string{"vllm", "serve", "--config", "f"} }, "the engine is given as a command"},
		"no sizes":            {func(m *Membership) { m.Engine.Parallel = nil }, "engine.parallel is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				r := newRank(t, serve(t, service), shmDir(t), tensorMember(0, 2))
				test.alter(&r.member)
				require.ErrorContains(t, r.register(context.Background()), "register KV: "+test.want)
				ran(t, []*rank{r}, 0)
				assert.Empty(t, service.log())
			})
		})
	}
	r := newRank(t, &network{}, "", tensorMember(0, 2))
	assert.ErrorContains(t, r.gate.RegisterKV(context.Background(), r.member, nil), "no callback")
	r.gate.opts.Engine = ""
	assert.ErrorIs(t, r.register(context.Background()), ErrNoEngineKey)
	assert.ErrorIs(t, r.admitCore(), ErrNoEngineKey)
}

func TestLeaders(t *testing.T) {
	for name, test := range map[string]struct {
		groups map[string][]int64
		want   bool
	}{
		"first of tp":    {map[string][]int64{"tp": {3, 4}}, true},
		"second of tp":   {map[string][]int64{"tp": {1, 3}}, false},
		"first of pp":    {map[string][]int64{"tp": {1, 3}, "pp": {3, 5}}, true},
		"first of pcp":   {map[string][]int64{"pcp": {3, 0}}, true},
		"alone":          {map[string][]int64{"tp": {3}, "pp": {3}, "pcp": {3}}, false},
		"of other kinds": {map[string][]int64{"dp": {3, 4}, "ep": {3, 4}, "dcp": {3, 4}}, false},
		"of none":        {nil, false},
	} {
		m := Membership{Rank: 3, Groups: test.groups}
		assert.Equal(t, test.want, m.leads(), name)
	}
}

// A configuration that cannot be read is reported all the same: all ranks are told what is wrong with it.
func TestUnreadableConfiguration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t))
		for _, r := range ranks {
			r.member.Engine.KVTransfer = json.RawMessage("{\"secondary_tiers\": \xff")
		}
		for _, err := range registerAll(context.Background(), ranks) {
			require.NoError(t, err)
		}
		assert.JSONEq(t, `"{\"secondary_tiers\": �"`, string(service.reports[0].Configuration.KVTransfer))
	})
}

// The digest must survive the encoders of services, which write JSON in other ways than this one.
func TestDigestSurvivesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engine := v1.Engine{
			Version:  rapid.String().Draw(t, "version"),
			Executor: string(rapid.SliceOf(rapid.Byte()).Draw(t, "executor")),
			KVTransfer: rapid.OneOf(
				rapid.Custom(func(t *rapid.T) json.RawMessage { return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes") }),
				rapid.Custom(document),
			).Draw(t, "kv_transfer"),
		}
		sent := configuration(&engine)
		digest, err := sent.Digest()
		require.NoError(t, err)
		text, err := json.Marshal(v1.Report{Configuration: sent})
		require.NoError(t, err)
		for range 2 {
			var arrived v1.Report
			require.NoError(t, experiment.Unmarshal(text, &arrived))
			got, err := arrived.Configuration.Digest()
			require.NoError(t, err)
			require.Equal(t, digest, got, "%s", text)
			text, err = experiment.Marshal(&arrived)
			require.NoError(t, err)
		}
	})
}

// document is JSON as people and templates write it.
func document(t *rapid.T) json.RawMessage {
	text := rapid.SampledFrom([]string{
		`"\u003c\u00e9\/\u2028\ud83d\ude00"`, `"<&>"`, `"\ud800"`, "\"\u2028\"", "1", "1.0", "1e400", "-0", "0.10", "12345678901234567890",
		"true", "null", "[]", "{}", `[1, [2]]`, `{"b": 1, "a": 2, "b": 3}`, `{"engine_id": "x"}`,
	}).Draw(t, "value")
	return json.RawMessage(`{"kv_connector_extra_config": {"secondary_tiers":` + text + ` , "x" :[ ` + text + `]}}`)
}
