package admission

import (
	v1 "github.com/tiergate/tiergate/api/v1"
)

// Ranked is the report of one rank.
type Ranked struct {
	Rank   int64
	Report *v1.Report
}

// Launch is what the policy judges at registration: the engine as the first rank of this world size is configured, and
// every rank with its own words. Reports are sorted by rank. Sizes that no policy could judge are left out, so that a
// report alone cannot keep the others without a verdict.
func Launch(engine string, world int64, reports []Ranked) *v1.Launch {
	config := configuration(world, reports)
	launch := &v1.Launch{
		Engine: v1.Engine{
			ID: engine, Version: config.Version, Parallel: config.Parallel, Executor: config.Executor, Nnodes: config.Nnodes,
			KVTransfer: config.KVTransfer,
		},
		Workers: make([]v1.Worker, len(reports)),
	}
	p := findPlaces(reports)
	launch.Nodes = p.nodes(reports)
	for i, r := range reports {
		launch.Workers[i] = v1.Worker{
			Rank: r.Rank, Node: p.names[p.of[i]], Version: r.Report.Configuration.Version, Groups: r.Report.Groups,
			WorldSize: r.Report.WorldSize, Config: &r.Report.Configuration,
		}
	}
	return launch
}

// configuration is that of the first rank that was told this world size. The others are compared with it by the policy.
func configuration(world int64, reports []Ranked) *v1.Configuration {
	for _, r := range reports {
		if r.Report.WorldSize == world {
			return &r.Report.Configuration
		}
	}
	return &v1.Configuration{}
}
