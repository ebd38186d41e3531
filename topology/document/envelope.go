package document

import v1 "github.com/tiergate/tiergate/api/v1"

// Input is Launch for a launch inside the envelope {"input": launch} of OPA's data API; pointers are those of the whole
// document.
func Input(data []byte, mediaType string) (*v1.Launch, error) {
	text, err := read(data, mediaType)
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Input *v1.Launch `json:"input"`
	}
	if err := text.decode(&envelope); err != nil {
		return nil, err
	}
	if envelope.Input == nil {
		return nil, text.locate(errorf(CodeMissingField, "/input", `input is missing; send {"input": launch}`))
	}
	if problem := complete(envelope.Input); problem != nil {
		problem.Pointer = "/input" + problem.Pointer
		return nil, text.locate(problem)
	}
	return envelope.Input, nil
}
