package kube

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// release matches tags such as v0.27.0, 0.11.2rc1 and v0.27.0-cu130.
var release = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:\.?(?:rc|post)\d+)?)(?:-.*)?$`)

// splitImage gives the last element of an image's name and its tag.
func splitImage(image string) (name, tag string) {
	image, _, _ = strings.Cut(image, "@")
	name, tag, _ = strings.Cut(path.Base(image), ":")
	return name, tag
}

// engineVersion is vLLM's version by the image's tag, empty in doubt. Only the images of the vLLM project, and mirrors
// of them under their name, are tagged with it: the tags of others that hold vLLM, such as llm-d's, count something
// else.
func engineVersion(image string) string {
	name, tag := splitImage(image)
	match := release.FindStringSubmatch(tag)
	if !strings.HasPrefix(name, "vllm-openai") || match == nil {
		return ""
	}
	return match[1]
}

// commands lists what a container may run, the likeliest first. Without a command of its own it runs the entrypoint of
// its image, which is not in the manifest: images with vllm in their name take arguments for vllm serve, or a whole
// command.
func (p *pod) commands(c *container) [][]string {
	if len(c.Command) > 0 {
		return [][]string{slices.Concat(c.Command, c.Args)}
	}
	name, _ := splitImage(c.Image)
	list := [][]string{c.Args}
	switch {
	case p.ray || !strings.Contains(name, "vllm"):
	case len(c.Args) > 0 && c.Args[0] == "serve":
		list = append(list, append([]string{"vllm"}, c.Args...))
	case strings.HasPrefix(name, "vllm-openai"), len(c.Args) > 0 && strings.HasPrefix(c.Args[0], "-"):
		list = append(list, append([]string{"vllm", "serve"}, c.Args...))
	}
	return list
}
