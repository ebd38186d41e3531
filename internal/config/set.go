package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// set reads one value into a field of Serve.
func set(field reflect.Value, text string) (err error) {
	switch into := field.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return into.UnmarshalText([]byte(text))
	case *string:
		*into = text
	case *bool:
		if *into, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		if *into, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
	case *float64:
		if *into, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
	case *time.Duration:
		if *into, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%q is no duration; write e.g. 5s or 1m30s", text)
		}
	}
	return nil
}

// suggest names the nearest key, or else all.
func suggest(name string) string {
	var keys []string
	best, bestDistance := "", 1+len(name)/4
	for field := range reflect.TypeFor[Serve]().Fields() {
		key := field.Tag.Get("yaml")
		keys = append(keys, key)
		if d := levenshtein.ComputeDistance(strings.ReplaceAll(name, "-", "_"), key); d <= bestDistance {
			best, bestDistance = key, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known are " + strings.Join(keys, ", ")
}
