package cli

// policyCmd groups what policy authors need.
type policyCmd struct {
	Check  policyCheckCmd  `cmd:"" help:"Load rules beside those that ship and show what would be in force."`
	Fmt    policyFmtCmd    `cmd:"" help:"Format rules."`
	Test   policyTestCmd   `cmd:"" help:"Run the tests of rules in WebAssembly and in the interpreter."`
	New    policyNewCmd    `cmd:"" help:"Write a new check and its test, to begin with."`
	Build  policyBuildCmd  `cmd:"" help:"Build a bundle with the rules, their data and their WebAssembly."`
	Replay policyReplayCmd `cmd:"" help:"Decide the launches of a decision log again and show what would flip."`
}
