package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEngineVersion(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai:v0.27.0":                            "0.27.0",
		"vllm/vllm-openai:0.11.2rc1":                          "0.11.2rc1",
		"vllm/vllm-openai:v0.10.1.post2":                      "0.10.1.post2",
		"registry.example:5000/mirror/vllm-openai:v0.27.0":    "0.27.0",
		"vllm/vllm-openai-rocm:v0.27.0-rc":                    "0.27.0",
		"vllm/vllm-openai:v0.27.0-cu130-ubuntu2404@sha256:01": "0.27.0",

		"vllm/vllm-openai":                    "",
		"vllm/vllm-openai@sha256:01":          "",
		"vllm/vllm-openai:latest":             "",
		"vllm/vllm-openai:nightly-0.27.0":     "",
		"vllm/vllm-openai:v0.27":              "",
		"ghcr.example/llm-d/llm-d-cuda:0.7.0": "",
		"llm-d-inference-sim-vllm:v0.5.0":     "",
		"nvcr.example/nvidia/vllm:25.09.1":    "",
		"":                                    "",
	} {
		assert.Equal(t, want, engineVersion(image), image)
	}
}

func TestCommands(t *testing.T) {
	args := []string{"--model", "m"}
	for _, test := range []struct {
		name string
		pod  pod
		c    container
		want [][]string
	}{
		{
			"a command of its own",
			pod{},
			container{Image: "vllm-openai", Command: []string{"a"}, Args: args},
			[][]string{{"a", "--model", "m"}},
		},
		{
			"the server's image",
			pod{},
			container{Image: "vllm/vllm-openai:v0.27.0", Args: args},
			[][]string{args, {"vllm", "serve", "--model", "m"}},
		},
		{"the server's image alone", pod{}, container{Image: "vllm/vllm-openai"}, [][]string{nil, {"vllm", "serve"}}},
		{"another image of vLLM", pod{}, container{Image: "my-vllm:1", Args: args}, [][]string{args, {"vllm", "serve", "--model", "m"}}},
		{"another image of vLLM alone", pod{}, container{Image: "my-vllm:1"}, [][]string{nil}},
		{"another image of vLLM with another program", pod{}, container{Image: "my-vllm:1", Args: []string{"bash"}}, [][]string{{"bash"}}},
		{"serve", pod{}, container{Image: "my-vllm:1", Args: []string{"serve", "m"}}, [][]string{{"serve", "m"}, {"vllm", "serve", "m"}}},
		{"an image of something else", pod{}, container{Image: "vllm.example/proxy:1", Args: args}, [][]string{args}},
		{"Ray starts the container", pod{ray: true}, container{Image: "vllm/vllm-openai", Args: args}, [][]string{args}},
	} {
		assert.Equal(t, test.want, test.pod.commands(&test.c), test.name)
	}
}
