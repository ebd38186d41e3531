package cli

import (
	"errors"
	"os"

	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/policy"
)

// policyFlags choose the rules to decide by.
type policyFlags struct {
	verificationFlags `embed:""`

	Policy   []string `sep:"none" placeholder:"DIR" help:"Add the rules of this directory, bundle or file to those that ship; repeatable."`
	Data     string   `placeholder:"FILE" help:"Take site data, such as waivers, from this JSON or YAML file."`
	CacheDir string   `placeholder:"DIR" help:"Keep compiled policies in this directory, for a faster start."`
}

// options reads what the flags name, for one evaluation at a time.
func (f *policyFlags) options() (policy.Options, error) {
	opts := policy.Options{DataName: f.Data, CacheDir: f.CacheDir, Instances: 1}
	var err error
	if opts.Sources, err = sources(f.Policy, &f.verificationFlags); err != nil {
		return opts, err
	}
	opts.Data, err = dataFile(f.Data)
	return opts, err
}

func dataFile(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("read data: %s", err)
	}
	return data, nil
}

// sources opens directories of rules, bundles, or single files of rules, all of them signed if verification is configured.
func sources(paths []string, flags *verificationFlags) ([]policy.Source, error) {
	verification, err := flags.verification()
	if err != nil {
		return nil, err
	}
	var list []policy.Source
	for _, path := range paths {
		source, err := rollout.Read(path, verification)
		var unreadable *rollout.PathError
		switch {
		case errors.As(err, &unreadable):
			return nil, usagef("%s", err)
		case err != nil:
			return nil, err
		}
		list = append(list, source)
	}
	return list, nil
}
