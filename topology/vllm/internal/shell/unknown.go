package shell

import "strings"

// Text that only the running script will know is carried inside ordinary strings as a mark, one private-use rune, so
// that it passes through quoting, joining and splitting like any other text and shows up wherever it ends up. A mark
// knows whether the shell would split the text at spaces: a mark that does not split stands for part of one argument,
// one that does stands for any number of arguments.
const (
	firstMark = 0x100000
	lastMark  = 0x10FFFD
	// markByte begins the UTF-8 form of every mark.
	markByte = 0xF4
)

// unknown is one text that is not known. Its text is how the source spells it.
type unknown struct{ text, reason string }

// Unknowns numbers the unknown texts of one command. The zero value is ready for use.
type Unknowns struct {
	list  []unknown
	index map[unknown]int
}

// mark gives the rune, as a string, that stands for an unknown text.
func (u *Unknowns) mark(text, reason string, splits bool) string {
	entry := unknown{text, reason}
	i, known := u.index[entry]
	switch {
	case known:
	case firstMark+2*len(u.list)+1 > lastMark:
		// The last reason stands for all that follow; a command with so many gets no useful answer anyway.
		i = len(u.list) - 1
	default:
		if u.index == nil {
			u.index = map[unknown]int{}
		}
		i = len(u.list)
		u.index[entry] = i
		u.list = append(u.list, entry)
	}
	return string(markRune(i, splits))
}

func markRune(i int, splits bool) rune {
	r := rune(firstMark + 2*i)
	if splits {
		r++
	}
	return r
}

func isMark(r rune) bool { return r >= firstMark && r <= lastMark }

// IsUnknown tells whether any part of a text is unknown. It is quick for text that is known.
func IsUnknown(text string) bool {
	return strings.IndexByte(text, markByte) >= 0 && strings.IndexFunc(text, isMark) >= 0
}

// Splits tells whether an argument has an unknown part without quotes, so that it may be any number of arguments.
func Splits(text string) bool {
	return IsUnknown(text) && strings.IndexFunc(text, func(r rune) bool { return isMark(r) && r&1 == 1 }) >= 0
}

// BeginsUnknown tells whether nothing is known of how a text begins.
func BeginsUnknown(text string) bool {
	return strings.IndexFunc(text, isMark) == 0
}

// Reason is why the first unknown part of a text is unknown; empty where all is known.
func (u *Unknowns) Reason(text string) string {
	if !IsUnknown(text) {
		return ""
	}
	for _, r := range text {
		if isMark(r) {
			return u.of(r).reason
		}
	}
	return ""
}

// of finds what a mark stands for. A rune that is no mark of ours, but was in the input, stands for itself.
func (u *Unknowns) of(mark rune) unknown {
	if i := int(mark-firstMark) / 2; i < len(u.list) {
		return u.list[i]
	}
	return unknown{text: string(mark)}
}

// Reveal writes the unknown parts of a text as the source spells them.
func (u *Unknowns) Reveal(text string) string {
	if !IsUnknown(text) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if isMark(r) {
			out.WriteString(u.of(r).text)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// settle turns every mark of a text into one that does or does not split.
func settle(text string, splits bool) string {
	if !IsUnknown(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return markRune(int(r-firstMark)/2, splits)
		}
		return r
	}, text)
}
