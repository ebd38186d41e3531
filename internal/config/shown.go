package config

import (
	"encoding"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// Shown are all settings by their keys, for people and programs that look: durations and sizes as they are written, and without
// what may be secret in the middle of addresses: passwords, and the values of queries.
func (s *Serve) Shown() map[string]any {
	shown := map[string]any{}
	v := reflect.ValueOf(s).Elem()
	for field, value := range v.Fields() {
		shown[field.Tag.Get("yaml")] = show(value.Interface())
	}
	return shown
}

func show(value any) any {
	switch value := value.(type) {
	case string:
		return withoutSecrets(value)
	case []string:
		list := make([]string, len(value))
		for i, one := range value {
			list[i] = withoutSecrets(one)
		}
		return list
	case time.Duration:
		return value.String()
	case encoding.TextMarshaler, fmt.Stringer:
		return fmt.Sprint(value)
	}
	return value
}

// withoutSecrets keeps texts that are no addresses. Several addresses may stand in one, separated by commas. What looks like an
// address and cannot be read may hold anything.
func withoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			parts[i] = "unreadable"
			continue
		}
		if u.User != nil {
			u.User = url.User("xxxxx")
		}
		query := u.Query()
		for name := range query {
			query.Set(name, "xxxxx")
		}
		u.RawQuery, u.Fragment = query.Encode(), ""
		parts[i] = u.String()
	}
	return strings.Join(parts, ",")
}
