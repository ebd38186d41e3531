package input

func engines(source string, data []byte) []Input {
	return []Input{{Source: source, Err: &Error{CodeNoEngine, "manifests are not read yet"}}}
}
