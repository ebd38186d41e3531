package webhook

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What an answer may hold. API servers pass warnings on as headers: each up to 256 bytes, all of them up to 4 KiB.
const (
	// maxWarning is in characters, as the guidelines for webhooks have it, and maxWarnings the last that counts the rest.
	maxWarning  = 119
	maxWarnings = 8
	// maxText is the longest message or fix of a violation, in characters.
	maxText = 400
	// shownMessages and shownFixes are those of one check in the message, maxCauses all causes.
	shownMessages = 2
	shownFixes    = 2
	maxCauses     = 16
	shownEngines  = 3
)

// message is what kubectl prints and controllers put into events: what is denied, then a line for each check, with what
// was seen and what to change.
func (a *Answer) message() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: the engine would not be admitted as it is launched", list(a.headlines, shownEngines, ", "))
	for _, check := range a.checks() {
		var messages, fixes []string
		for _, f := range a.denied {
			if f.check != check {
				continue
			}
			messages = appendNew(messages, cut(f.message, maxText))
			if f.fix != "" {
				fixes = appendNew(fixes, cut(f.fix, maxText))
			}
		}
		fmt.Fprintf(&text, "\n%s: %s", check, list(messages, shownMessages, "; "))
		if len(fixes) > 0 {
			fmt.Fprintf(&text, "; to fix it: %s", list(fixes, shownFixes, ", or "))
		}
	}
	fmt.Fprintf(&text, "\n(decision %s)", a.id)
	return text.String()
}

// checks lists those that deny, in the order of the verdict.
func (a *Answer) checks() (ids []string) {
	for _, f := range a.denied {
		ids = appendNew(ids, f.check)
	}
	return ids
}

// causes are the violations for programs: the check as the reason.
func (a *Answer) causes() []cause {
	out := make([]cause, 0, min(len(a.denied), maxCauses))
	for _, f := range a.denied[:min(len(a.denied), maxCauses)] {
		text := f.message
		if f.fix != "" {
			text += "; to fix it: " + f.fix
		}
		out = append(out, cause{Reason: f.check, Message: cut(text, 2*maxText)})
	}
	return out
}

// list joins the first texts and counts the others.
func list(texts []string, most int, separator string) string {
	if len(texts) <= most {
		return strings.Join(texts, separator)
	}
	return strings.Join(texts[:most], separator) + fmt.Sprintf("%sand %d more", separator, len(texts)-most)
}

// bounded leaves room for the number of warnings that are left out.
func bounded(warnings []string) []string {
	if len(warnings) <= maxWarnings {
		return warnings
	}
	kept := slices.Clone(warnings[:maxWarnings-1])
	return append(kept, fmt.Sprintf("tiergate: %d more warnings; the decision log has all", len(warnings)-len(kept)))
}

// cut makes one line of a text and shortens it at a word to that many characters.
func cut(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	const dots = "..."
	runes := []rune(text)[:most-len(dots)+1]
	end := len(runes) - 1
	// A text without a space near its end is cut where it is, rather than lost.
	for i := end; i > end/2; i-- {
		if runes[i] == ' ' {
			end = i
			break
		}
	}
	return strings.TrimRight(string(runes[:end]), " ,;:") + dots
}
