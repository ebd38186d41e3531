package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// maxRounds is how often a loop over a list that is known is followed.
const maxRounds = 64

// whileClause follows a loop once, with all that it changes unknown from the start: that covers every round.
func (in *interpreter) whileClause(clause *syntax.WhileClause, s *scope) flow {
	in.loosen(clause, s)
	cond := in.statements(clause.Cond, s).split()
	if clause.Until {
		cond.ok, cond.failed = cond.failed, cond.ok
	}
	f := in.enter(true)
	if cond.ok != nil {
		in.statements(clause.Do, cond.ok)
	}
	in.leave()
	after := in.join(cond.failed, f.breaks, last(clause.Cond))
	return flow{after, after}
}

func (in *interpreter) forClause(clause *syntax.ForClause, s *scope) flow {
	items, known := in.items(clause, s)
	if !known {
		in.loosen(clause, s)
		in.enter(true)
		in.statements(clause.Do, s.clone())
		in.leave()
		return flow{s, s}
	}
	var after *scope
	name := clause.Loop.(*syntax.WordIter).Name.Value
	for _, item := range items {
		s.put(name, text(item))
		f := in.enter(true)
		end := in.statements(clause.Do, s)
		in.leave()
		after = in.join(after, f.breaks, nil)
		if s = in.join(in.join(end.ok, end.failed, last(clause.Do)), f.repeat, nil); s == nil {
			break
		}
	}
	after = in.join(after, s, nil)
	return flow{after, after}
}

// items lists what a loop goes over, if that is known and short.
func (in *interpreter) items(clause *syntax.ForClause, s *scope) ([]string, bool) {
	iter, ok := clause.Loop.(*syntax.WordIter)
	if !ok || clause.Select {
		return nil, false
	}
	items := s.args
	if iter.InPos.IsValid() {
		items = in.fields(iter.Items, s)
	}
	return items, len(items) <= maxRounds && !slices.ContainsFunc(items, Splits)
}

// loosen makes unknown whatever a loop may change.
func (in *interpreter) loosen(loop syntax.Node, s *scope) {
	s.forget("is changed in a loop", assigned(loop)...)
	syntax.Walk(loop, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			name := call.Args[0].Lit()
			if opaqueBuiltins[name] || s.functions[name] != nil {
				s.forgetAll("a variable may be set by " + in.source(call) + ", which runs in a loop")
			}
		}
		return true
	})
}

// opaqueBuiltins may set any variable.
var opaqueBuiltins = map[string]bool{"eval": true, "source": true, ".": true}

// assigned lists the variables that a piece of script names in order to set them.
func assigned(node syntax.Node) []string {
	var names []string
	syntax.Walk(node, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Assign:
			if node.Name != nil {
				names = append(names, node.Name.Value)
			}
		case *syntax.WordIter:
			names = append(names, node.Name.Value)
		case *syntax.ParamExp:
			if node.Exp != nil && node.Param != nil {
				names = append(names, node.Param.Value)
			}
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			names = append(names, operandNames(node)...)
		case *syntax.CallExpr:
			if len(node.Args) > 0 && namingBuiltins[node.Args[0].Lit()] {
				for _, word := range node.Args[1:] {
					names = append(names, word.Lit())
				}
			}
		}
		return true
	})
	return slices.DeleteFunc(names, func(name string) bool { return !isName(name) })
}

// operandNames lists the variables in arithmetic, any of which may be assigned to there.
func operandNames(node syntax.Node) []string {
	var names []string
	syntax.Walk(node, func(node syntax.Node) bool {
		if word, ok := node.(*syntax.Word); ok {
			names = append(names, word.Lit())
		}
		return true
	})
	return names
}

// enter opens a frame that break, continue and return jump out of, and leave closes it.
func (in *interpreter) enter(loop bool) *frame {
	f := &frame{loop: loop}
	in.frames = append(in.frames, f)
	return f
}

func (in *interpreter) leave() { in.frames = in.frames[:len(in.frames)-1] }
