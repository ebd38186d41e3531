// Package policy decides launches by Rego rules that run as WebAssembly. It owns the way from rule files to a revision
// (parse, type check, refusals, compilation), the revision that is in force, and the way from a launch to a verdict. It
// must not serve requests, read commands or manifests, or hold any rule of its own: rules live in package rego and with
// the platform teams.
//
//	engine, err := policy.New(ctx, policy.Options{})
//	decision, err := engine.Decide(ctx, launch)
//	fmt.Println(decision.Outcome, string(decision.JSON))
package policy
