package topology

// engineFacts copies the resolved configuration, without the settings that are not known yet.
func engineFacts(e *Engine, grid Grid) EngineFacts {
	known := func(setting string, value *int64) *int64 {
		if e.unresolved(setting) != nil {
			return nil
		}
		return value
	}
	facts := EngineFacts{
		ID:      e.ID,
		Version: e.Version,
		Parallel: ParallelFacts{
			Tensor:         known(SettingTensor, &e.Tensor),
			Pipeline:       known(SettingPipeline, &e.Pipeline),
			PrefillContext: known(SettingPrefillContext, &e.PrefillContext),
			DecodeContext:  known(SettingDecodeContext, &e.DecodeContext),
			Data:           known(SettingData, &e.Data),
			DataLocal:      known(SettingDataLocal, e.DataLocal),
		},
		Executor:      e.Executor,
		ExecutorGiven: e.ExecutorGiven,
		Nnodes:        known(SettingNnodes, &e.Nnodes),
		NodeRank:      known(SettingNodeRank, &e.NodeRank),
		Headless:      e.Headless,
		DataBackend:   e.DataBackend,
		DataRank:      known(SettingDataRank, e.DataRank),
		DataStartRank: known(SettingDataStartRank, e.DataStartRank),
		ExternalLB:    e.ExternalLB,
		HybridLB:      e.HybridLB,
		Refusals:      e.Refusals,
		Unresolved:    e.Unresolved,
	}
	if facts.DataBackend == "" {
		facts.DataBackend = executorMP
	}
	if e.unresolved(SettingExecutor) != nil {
		facts.Executor = ""
	}
	if world := grid.Replica(); world > 0 {
		facts.WorldSize = &world
	}
	return facts
}

// transferred is the KV transfer configuration, nil where it cannot be known before the start.
func transferred(e *Engine) *Transferred {
	if e.unresolved(SettingTransfer) != nil {
		return nil
	}
	facts := &Transferred{Given: e.Transfer.Given, Connectors: e.Transfer.Connectors}
	for i := range facts.Connectors {
		facts.Tiered = facts.Tiered || facts.Connectors[i].Tiered
	}
	return facts
}
