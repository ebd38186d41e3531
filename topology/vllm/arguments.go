package vllm

import (
	"math"
	"regexp"
	"strings"

	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// occurrence is the last place where a flag was given.
type occurrence struct {
	given bool
	// spelled is the flag as the user wrote it.
	spelled, value string
	at             int
	// on is the value of a boolean flag.
	on bool
	// refused tells a value that vLLM would not read.
	refused bool
}

// arguments are what an engine's command line sets.
type arguments struct {
	*shell.Unknowns
	program shell.Program
	// offset is the number of the program's arguments that are the engine itself.
	offset int
	flags  [flagCount]occurrence
	dotted []dottedHead
	// unseen is why further flags may stand before the argument at unseenAt, or empty. What is given after it is
	// certain: the last one wins.
	unseen   string
	unseenAt int
	refusals []topology.Refusal
}

// scanner reads arguments in the order in which argparse does.
type scanner struct {
	*arguments
	tokens []token
	i      int
	// serves tells that the model may be given by position, model that it was.
	serves, model bool
	// wants is true behind a flag that may take the next token for its value.
	wants bool
}

// scan reads the arguments of an engine as vLLM's parser would. Flags that change no verdict are passed over.
func scan(p shell.Program, u *shell.Unknowns) *arguments {
	rest, serves, _ := engineArgs(p.Args)
	a := &arguments{Unknowns: u, program: p, offset: len(p.Args) - len(rest), unseenAt: -1}
	s := &scanner{arguments: a, tokens: a.takeDotted(rest), serves: serves}
	for ; s.i < len(s.tokens); s.i++ {
		if s.tokens[s.i].text == "--" {
			s.rest(s.tokens[s.i+1:])
			break
		}
		s.token(s.tokens[s.i].text)
	}
	if config := &a.flags[flagConfig]; config.given {
		// vLLM puts what the file holds before the arguments of the command line.
		a.see(config.spelled+" "+shorten(u.Reveal(config.value))+" may set it, and the file is not read", -1)
	}
	return a
}

// see records that flags which nobody can see may stand at a place.
func (a *arguments) see(reason string, at int) {
	if a.unseen == "" || at >= a.unseenAt {
		a.unseen, a.unseenAt = reason, at
	}
}

func (s *scanner) token(token string) {
	wanted := s.wants
	s.wants = false
	switch {
	case shell.IsUnknown(token) && s.unsure(token, wanted):
	case !isOption(token):
		s.model = s.model || !wanted
	default:
		s.option(token)
	}
}

// unsure handles a token that is not known to begin with or without a dash. It reports false for one that is.
func (s *scanner) unsure(token string, wanted bool) bool {
	splits := shell.Splits(token)
	name, _, assigned := strings.Cut(token, "=")
	switch {
	case wanted:
		// It is the value of a flag that changes no verdict. Written without quotes it could be more, but a command
		// in which it is would rarely work; what follows a flag that takes a value is taken for one.
		return true
	case assigned && !shell.IsUnknown(name) && isOption(name), isAttached(token):
		return false
	case !splits && !shell.BeginsUnknown(token) && token[0] != '-':
		return false
	case !splits && s.serves && !s.model:
		s.model = true
		return true
	}
	reason := s.Reason(token)
	if splits {
		reason += "; it stands without quotes, so that it may hold further arguments"
	} else {
		reason += ", and it may be a flag itself"
	}
	s.see(reason, s.tokens[s.i].at)
	return true
}

// option reads a flag and, where it takes one, its value.
func (s *scanner) option(token string) {
	name, value, assigned := strings.Cut(token, "=")
	if isAttached(token) {
		name, value, assigned = token[:2], strings.TrimPrefix(token[2:], "="), true
	}
	id, negated := findFlag(name)
	switch {
	case id == flagAmbiguous:
		s.refuse(topology.Refusal{
			Setting: name, Value: value, Reason: "ambiguous option: it could match several flags",
			Fix: "write the flag in full",
		})
	case id == flagUnknown:
		if base := strings.TrimRight(name, "0123456789"); base != name && isAlias(base) {
			s.refuse(topology.Refusal{
				Setting: name, Reason: "unrecognized arguments: " + name,
				Fix: "write " + base + " " + name[len(base):],
			})
		}
		s.wants = !assigned && takesValue(name)
	case flags[id].kind == boolean:
		if assigned {
			s.refuse(topology.Refusal{
				Setting: name, Value: s.Reveal(value),
				Reason: "ignored explicit argument: the flag takes no value", Fix: "write " + name + " alone",
			})
			return
		}
		s.set(id, occurrence{spelled: name, on: !negated})
	case assigned:
		s.set(id, occurrence{spelled: name, value: value})
	case s.i+1 < len(s.tokens) && !isOption(s.tokens[s.i+1].text):
		s.set(id, occurrence{spelled: name, value: s.tokens[s.i+1].text})
		s.i++
	default:
		s.refuse(topology.Refusal{Setting: name, Reason: "expected one argument", Fix: "give " + name + " a value"})
	}
}

// set records a flag. vLLM reads the value at once, so that a bad one is refused though a better one follows.
func (s *scanner) set(id flagID, o occurrence) {
	o.given, o.at = true, s.tokens[s.i].at
	if reason, fix := fault(flags[id].kind, o); reason != "" && !shell.IsUnknown(o.value) {
		o.refused = true
		s.refuse(topology.Refusal{
			Check: flags[id].check, Setting: o.spelled, Value: shorten(o.value), Reason: reason,
			Fix: fix,
		})
	}
	s.flags[id] = o
}

// fault says why vLLM would not read the value of a flag, and what to write instead.
func fault(kind valueKind, o occurrence) (reason, fix string) {
	switch kind {
	case integer:
		switch _, ok := parseInt(o.value); {
		case ok:
		case strings.Contains(o.value, "$"):
			return "invalid int value", "no shell replaces the variable here: write $(NAME) where Kubernetes starts " +
				"the command, or run it with sh -c"
		default:
			return "invalid int value", "give a whole number, e.g. " + o.spelled + " 2"
		}
	case gibibytes:
		if f, ok := parseFloat(o.value); !isNone(o.value) && (!ok || math.IsInf(f, 0) || math.IsNaN(f)) {
			return "it cannot be converted to a number of GiB",
				"give a number of GiB without a unit, e.g. " + o.spelled + " 10"
		}
	case backend:
		if _, ok := offloadingBackends[o.value]; !ok {
			return "invalid choice", "choose native or lmcache"
		}
	}
	return "", ""
}

// refuse records what vLLM's parser would not accept.
func (a *arguments) refuse(r topology.Refusal) {
	if r.Check == "" {
		r.Check = checkParallel
	}
	a.refusals = append(a.refusals, r)
}

// rest reads what follows --: positional arguments only. vLLM takes one of them, the model.
func (s *scanner) rest(tokens []token) {
	for _, token := range tokens {
		name, _, _ := strings.Cut(token.text, "=")
		if id, _ := findFlag(name); isOption(token.text) && id >= 0 {
			s.refuse(topology.Refusal{
				Setting: name, Reason: "unrecognized arguments: flags after -- are positional",
				Fix: "move it before --",
			})
		}
	}
}

// isAlias tells whether a name is the alias of one of our flags.
func isAlias(name string) bool {
	for id := range flags {
		if flags[id].alias == name {
			return true
		}
	}
	return false
}

var negative = regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)

func isNegative(token string) bool { return negative.MatchString(token) }

// isOption tells whether argparse takes a token for a flag, known or not: negative numbers and text with spaces are
// values.
func isOption(token string) bool {
	if len(token) < 2 || token[0] != '-' || isNegative(token) {
		return false
	}
	name, _, _ := strings.Cut(token, "=")
	return isAttached(token) || !strings.Contains(name, " ")
}

// isAttached tells whether a token is one of the aliases of a single letter with its value behind it.
func isAttached(token string) bool {
	return len(token) > 2 && (strings.HasPrefix(token, "-n") || strings.HasPrefix(token, "-r"))
}

// normalize writes the name of a long flag with dashes, up to the first dot.
func normalize(token string) string {
	if !strings.HasPrefix(token, "--") {
		return token
	}
	name, value, assigned := strings.Cut(token, "=")
	head, keys, dotted := strings.Cut(name, ".")
	name = strings.ReplaceAll(head, "_", "-")
	if dotted {
		name += "." + keys
	}
	if assigned {
		name += "=" + value
	}
	return name
}
