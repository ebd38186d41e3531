package document

import v1 "github.com/tiergate/tiergate/api/v1"

// Part is one YAML document of a file that may hold several.
type Part struct {
	Data []byte
	// Line is the line of the file on which Data starts, counted from 1.
	Line int
}

// Text is FromYAML for a part of a file; lines are the file's.
func (p Part) Text() (Text, error) {
	text, problem := rewrite(p.Data)
	if problem != nil {
		if problem.Line > 0 {
			problem.Line += p.Line - 1
		}
		problem.Pointer = shorten(problem.Pointer, shownPointer)
		return Text{}, problem
	}
	for i := range text.marks {
		text.marks[i].line += p.Line - 1
	}
	return text, nil
}

// Launch decodes a part of a YAML file as a launch document, as Launch does; lines are the file's.
func (p Part) Launch() (*v1.Launch, error) {
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	return text.launch()
}
