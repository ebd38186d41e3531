package rewrite

// addSite returns the number of a new site.
func (m *rewriter) addSite(rule, builtin string) int32 {
	m.sites = append(m.sites, Site{Rule: rule, Builtin: builtin})
	return int32(len(m.sites))
}

// fuelCheck is `fuel--; if fuel < 0 { opa_abort(Sentinel) }`.
func (m *rewriter) fuelCheck() []byte {
	var b []byte
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opI32Const, 1, opI32Sub)
	b = appendU32(append(b, opGlobalSet), m.fuel)
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opI32Const, 0, opI32LtS, opIf, blockEmpty)
	b = appendS32(append(b, opI32Const), Sentinel)
	b = appendU32(append(b, opCall), m.abort)
	return append(b, opEnd)
}

func (m *rewriter) siteNote(site int32) []byte {
	return appendU32(append(appendS32([]byte{opI32Const}, site), opGlobalSet), m.site)
}

// faultNote is `if result == 0 && fault == 0 { fault = site }`, leaving the result on the stack. OPA's builtins return
// no value where they fail and the rule goes on as undefined, which must not become an answer. The site global is free
// here, as no host builtin is running.
func (m *rewriter) faultNote(site int32) []byte {
	var b []byte
	b = appendU32(append(b, opGlobalSet), m.site)
	b = appendU32(append(b, opGlobalGet), m.site)
	b = append(b, opI32Eqz, opIf, blockEmpty)
	b = appendU32(append(b, opGlobalGet), m.fault)
	b = append(b, opI32Eqz, opIf, blockEmpty, opI32Const)
	b = appendS32(b, site)
	b = appendU32(append(b, opGlobalSet), m.fault)
	b = append(b, opEnd, opEnd)
	return appendU32(append(b, opGlobalGet), m.site)
}
