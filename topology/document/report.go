package document

import (
	"errors"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// MaxReportBytes is the largest document of the exchange at KV registration, as JSON: that of a rank in an engine of 8,192,
// with every group of all of them. Stores do not take much larger values.
const MaxReportBytes = 448 << 10

// Report decodes what a worker says of itself. Ignored are the pointers of the fields that this version does not know, if
// the report says that it was written by a newer minor version of the protocol; otherwise such a field is an error, as in
// Launch. Another major version is refused with v1.CodeProtocol, whatever else is in the document. Media types and errors
// are Decode's.
func Report(data []byte, mediaType string) (report *v1.Report, ignored []string, err error) {
	report = new(v1.Report)
	text, ignored, err := exchanged(data, mediaType, report)
	if err != nil {
		return nil, nil, err
	}
	if tooDeep(report.Configuration.KVTransfer, 2) {
		return nil, nil, text.locate(depthError("/configuration/kv_transfer"))
	}
	return report, ignored, nil
}

// Probe decodes what a worker read from the segments that it was told to open. Versions and errors are Report's.
func Probe(data []byte, mediaType string) (probe *v1.Probe, ignored []string, err error) {
	probe = new(v1.Probe)
	_, ignored, err = exchanged(data, mediaType, probe)
	return probe, ignored, err
}

// Core decodes what an engine core says of itself. Versions and errors are Report's.
func Core(data []byte, mediaType string) (core *v1.CoreReport, ignored []string, err error) {
	core = new(v1.CoreReport)
	_, ignored, err = exchanged(data, mediaType, core)
	return core, ignored, err
}

// exchanged decodes one document of the exchange by the version that it was written for.
func exchanged(data []byte, mediaType string, into any) (text Text, ignored []string, err error) {
	defer func() {
		var problem *Error
		if errors.As(err, &problem) && problem.Code == CodeEmpty {
			problem.Detail = "the document is empty; send what this worker has to say, as JSON or YAML"
		}
	}()
	if text, err = read(data, mediaType); err != nil {
		return Text{}, nil, err
	}
	if len(text.JSON) > MaxReportBytes {
		return Text{}, nil, tooLarge(len(text.JSON), MaxReportBytes, " of one rank")
	}
	newer, problem := text.newer()
	if problem != nil {
		return Text{}, nil, text.locate(problem)
	}
	if !newer {
		return text, nil, text.decode(into)
	}
	ignored, err = text.decodeNewer(into)
	return text, ignored, err
}
