package document

import "bytes"

// Split cuts a file at the lines that start with ---, which YAML allows nowhere else. Documents without content, such
// as one that holds only comments, are left out; comments and directives before a --- stay with the document behind it.
func Split(file []byte) []Part {
	var parts []Part
	part := Part{Data: file, Line: 1}
	start, marked, content := 0, false, false
	for offset, line := 0, 1; offset < len(file); line++ {
		text, _, _ := bytes.Cut(file[offset:], []byte("\n"))
		if isMarker(text) {
			if content {
				part.Data = file[start:offset]
				parts = append(parts, part)
			}
			if content || marked {
				start, part.Line = offset, line
			}
			marked, content = true, hasContent(text[len("---"):])
		} else {
			content = content || hasContent(text)
		}
		offset += len(text) + 1
	}
	if content {
		part.Data = file[start:]
		parts = append(parts, part)
	}
	return parts
}

func isMarker(line []byte) bool {
	after, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(after) == 0 || after[0] == ' ' || after[0] == '\t' || after[0] == '\r')
}

// hasContent is false for lines that are blank or hold a comment, a directive or the end mark.
func hasContent(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) > 0 && text[0] != '#' && text[0] != '%' && !bytes.Equal(text, []byte("..."))
}
