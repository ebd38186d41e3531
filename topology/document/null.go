package document

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// refuseNulls reports the first null that the decoder would have turned into an empty string or a zero: a list element
// or the value of an environment variable. The text is JSON that was decoded already.
func refuseNulls(data []byte) *Error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil
		}
		container, length := decoder.StackIndex(decoder.StackDepth())
		switch token.Kind() {
		case 'n':
			pointer := decoder.StackPointer()
			if container == '[' {
				return errorf(CodeInvalidType, string(pointer), "null in a list; leave the element out")
			}
			if pointer.Parent().LastToken() == "env" {
				return errorf(CodeInvalidType, string(pointer), `null as a variable's value; leave it out, or write ""`)
			}
		case '"':
			// Inside a transfer configuration null is vLLM's business. An odd length means that the token is a name.
			if container == '{' && length%2 == 1 && token.String() == "kv_transfer" {
				_ = decoder.SkipValue()
			}
		}
	}
}
