package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, usagef("read policy: %s", err)
		case verification != nil || isBundle(path):
			source, err := openBundle(path, verification)
			if err != nil {
				return nil, err
			}
			list = append(list, source)
		case info.IsDir():
			list = append(list, policy.Source{Name: path, FS: os.DirFS(path)})
		case filepath.Ext(path) != ".rego":
			return nil, usagef("read policy: %s is neither a directory nor a bundle (.tar.gz) nor a .rego file", path)
		default:
			dir, name := filepath.Split(path)
			list = append(list, policy.Source{Name: filepath.Clean(dir), FS: onlyFile{os.DirFS(filepath.Clean(dir)), name}})
		}
	}
	return list, nil
}

// onlyFile is a directory in which only one file is seen.
type onlyFile struct {
	fs.FS
	name string
}

// ReadDir lists the file.
func (o onlyFile) ReadDir(string) ([]fs.DirEntry, error) {
	info, err := fs.Stat(o.FS, o.name)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", o.name, err)
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}
