package config

import (
	"fmt"
	"os"
	"reflect"
)

// Complete adds the settings of a configuration file, which may be empty for none, and the defaults to those that flags
// and variables gave, and validates the whole. All mistakes of the file, and then all of the whole, come in one error.
func (s *Serve) Complete(file string) error {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read configuration: %w", err)
		}
		given, err := Parse(file, text)
		if err != nil {
			return err
		}
		s.fill(given)
	}
	s.SetDefaults()
	return s.Validate()
}

// fill takes from other what is zero here.
func (s *Serve) fill(other *Serve) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(other).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}
