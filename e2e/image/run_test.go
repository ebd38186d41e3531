//go:build linux

package image

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spanning is an engine with a disk tier whose tensor-parallel group is on two nodes.
const spanning = `
engine:
  version: "0.33.0"
  command: [vllm, serve, model-x, -tp, "4", --nnodes, "2", --kv-transfer-config,
    '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"spec_name":
    "TieringOffloadingSpec", "cpu_bytes_to_use": 1000000000, "secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}}']
nodes: [{id: gpu-a}, {id: gpu-b}]
`

// runs starts the program in the image's root, which is read-only but for its volume, as nobody, without /proc or /dev.
func runs(t *testing.T, image string, env []string) {
	root := t.TempDir()
	if err := unix.Mount(image, root, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %s", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(root, unix.MNT_DETACH)) })
	require.NoError(t, unix.Mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	cache := filepath.Join(root, "var/cache/tiergate")
	require.NoError(t, unix.Mount("tmpfs", cache, "tmpfs", 0, "mode=0700,uid=65532,gid=65532"))
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(cache, unix.MNT_DETACH)) })
	program := func(args ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "/tiergate", args...)
		command.Dir, command.Env = "/", env
		command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return command
	}

	out, err := program("version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `(?m)^tiergate v1\.2\.3-test$`, string(out))

	serve := program("serve", "--addr", "127.0.0.1:0")
	stdout, err := serve.StdoutPipe()
	require.NoError(t, err)
	var log bytes.Buffer
	serve.Stderr = &log
	require.NoError(t, serve.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		require.NoError(t, serve.Wait(), "%s", &log)
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	require.NotEmpty(t, url, "%q names no address", line)

	out, err = program("health", "--server", url).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "ready: "+url+"\n", string(out))
	compiled, err := filepath.Glob(filepath.Join(cache, "*"))
	require.NoError(t, err)
	assert.NotEmpty(t, compiled, "the volume is used")

	validate := program("validate", "--server", url, "-")
	validate.Stdin = strings.NewReader(spanning)
	out, _ = validate.CombinedOutput()
	assert.Equal(t, 1, validate.ProcessState.ExitCode(), "%s", out)
	assert.Regexp(t, `(?m)^DENY .*\n(.*\n)*.*tiering\.node_local`, string(out))

	require.NoError(t, serve.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	select {
	case err := <-ended:
		assert.NoError(t, err, "SIGTERM ends it cleanly")
	case <-time.After(30 * time.Second):
		t.Error("the service does not end")
	}
	out, err = program("health", "--server", url).CombinedOutput()
	assert.Error(t, err)
	assert.Regexp(t, `^not ready: `+regexp.QuoteMeta(url)+`: service unreachable`, string(out))
}
