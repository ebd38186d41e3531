package decisionlog

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// erase removes from a record what the pointers name, and lists what was there.
func erase(line []byte, pointers []string) ([]byte, error) {
	if len(pointers) == 0 {
		return line, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	var erased []string
	for _, pointer := range pointers {
		tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		document, found := members[tokens[0]]
		if !found || len(tokens) < 2 {
			continue
		}
		changed, err := eraseBelow(document, "/"+tokens[0], tokens[1:], &erased)
		if err != nil {
			return nil, err
		}
		members[tokens[0]] = changed
	}
	if len(erased) == 0 {
		return line, nil
	}
	var err error
	if members["erased"], err = json.Marshal(erased); err != nil {
		return nil, err
	}
	return json.Marshal(members, json.Deterministic(true))
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// eraseBelow removes what the tokens lead to. Elements of lists that lose their value become null, so that the others keep
// their place; all else stays byte for byte.
func eraseBelow(raw jsontext.Value, at string, tokens []string, erased *[]string) (jsontext.Value, error) {
	token := unescapePointer.Replace(tokens[0])
	visit := func(name string, value jsontext.Value) (jsontext.Value, bool, error) {
		if tokens[0] != "*" && token != name {
			return value, true, nil
		}
		here := at + "/" + escapePointer.Replace(name)
		if len(tokens) == 1 {
			*erased = append(*erased, here)
			return nil, false, nil
		}
		value, err := eraseBelow(value, here, tokens[1:], erased)
		return value, true, err
	}
	switch raw.Kind() {
	case '{':
		var members map[string]jsontext.Value
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		for name, value := range members {
			changed, keep, err := visit(name, value)
			switch {
			case err != nil:
				return nil, err
			case keep:
				members[name] = changed
			default:
				delete(members, name)
			}
		}
		return json.Marshal(members, json.Deterministic(true))
	case '[':
		var items []jsontext.Value
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		for i := range items {
			changed, keep, err := visit(strconv.Itoa(i), items[i])
			if err != nil {
				return nil, err
			}
			if !keep {
				changed = jsontext.Value("null")
			}
			items[i] = changed
		}
		return json.Marshal(items)
	}
	return raw, nil
}
