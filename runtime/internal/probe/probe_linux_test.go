package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// directory is one on a tmpfs, which is empty in the end.
func directory(t *testing.T) string {
	t.Helper()
	if onTmpfs(Shm) != nil {
		t.Skip(Shm + " is no tmpfs here")
	}
	dir, err := os.MkdirTemp(Shm, "probe-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func made(t *testing.T, dir string) *Segment {
	t.Helper()
	s, fail := Make(dir)
	require.Nil(t, fail)
	t.Cleanup(func() { assert.NoError(t, s.Remove()) })
	return s
}

func TestSharedSegment(t *testing.T) {
	dir := directory(t)
	s := made(t, dir)
	assert.Regexp(t, `^tiergate-probe-[0-9a-f]{32}$`, s.Name())
	assert.Equal(t, []string{s.Name()}, names(t, dir))
	stat, err := os.Stat(filepath.Join(dir, s.Name()))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), stat.Mode())

	answer := Read(dir, s.Name())
	assert.Equal(t, v1.Shared, answer.Outcome)
	assert.Nil(t, answer.Error)
	nonce, err := hex.DecodeString(answer.Nonce)
	require.NoError(t, err)
	assert.Len(t, nonce, nonceSize)
	sum := sha256.Sum256(nonce)
	assert.Equal(t, s.SHA256(), hex.EncodeToString(sum[:]))

	other := made(t, dir)
	assert.NotEqual(t, s.Name(), other.Name())
	assert.NotEqual(t, s.SHA256(), other.SHA256())

	require.NoError(t, s.Remove())
	require.NoError(t, s.Remove(), "a second time")
	assert.Equal(t, "ENOENT", Read(dir, s.Name()).Error.Errno)
}

func TestRemovedByOthers(t *testing.T) {
	dir := directory(t)
	s := made(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, s.Name())))
	assert.NoError(t, s.Remove())
}

const someName = Prefix + "00112233445566778899aabbccddeeff"

// Whatever has the name and is no complete segment is not shared, and is neither waited for nor followed.
func TestWhatIsNoSegment(t *testing.T) {
	whole := encode(nonce{1, 2, 3})
	put := func(text []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, text, 0o600)) }
	}
	changed := func(at int) []byte {
		text := append([]byte(nil), whole...)
		text[at]++
		return text
	}
	for name, test := range map[string]struct {
		errno string
		make  func(t *testing.T, path string)
	}{
		"nothing":       {"ENOENT", func(*testing.T, string) {}},
		"empty":         {NotSegment, put(nil)},
		"cut":           {NotSegment, put(whole[:len(whole)-1])},
		"longer":        {NotSegment, put(append(whole[:len(whole):len(whole)], 0))},
		"zeros":         {NotSegment, put(make([]byte, segmentSize))},
		"other magic":   {NotSegment, put(changed(0))},
		"newer version": {NotSegment, put(changed(len(magic)))},
		"other nonce":   {NotSegment, put(changed(nonceStart))},
		"other sum":     {NotSegment, put(changed(crcStart))},
		"directory":     {NotSegment, func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }},
		"pipe":          {NotSegment, func(t *testing.T, path string) { require.NoError(t, unix.Mkfifo(path, 0o600)) }},
		"socket":        {NotSegment, func(t *testing.T, path string) { require.NoError(t, unix.Mknod(path, unix.S_IFSOCK|0o600, 0)) }},
		"link to a segment": {NotSegment, func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path+"-target", whole, 0o600))
			require.NoError(t, os.Symlink(path+"-target", path))
		}},
		"dangling link": {NotSegment, func(t *testing.T, path string) { require.NoError(t, os.Symlink("/nowhere", path)) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			path := filepath.Join(dir, someName)
			test.make(t, path)
			before := descriptors()
			answer := Read(dir, someName)
			assert.Equal(t, before, descriptors())
			assert.Equal(t, v1.NotShared, answer.Outcome)
			assert.Empty(t, answer.Nonce)
			assert.Equal(t, test.errno, answer.Error.Errno)
			assert.Contains(t, answer.Error.Detail, path)
		})
	}
	t.Run("a whole one", func(t *testing.T) {
		dir := directory(t)
		put(whole)(t, filepath.Join(dir, someName))
		assert.Equal(t, v1.Shared, Read(dir, someName).Outcome)
	})
}

// Names come from the network: only those of segments are opened.
func TestNamesThatAreNotOpened(t *testing.T) {
	dir := directory(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), encode(nonce{}), 0o600))
	sub := filepath.Join(dir, Prefix+"dir")
	require.NoError(t, os.Mkdir(sub, 0o700))
	for name, errno := range map[string]string{
		"":                                   NoSegment,
		"secret":                             InvalidName,
		"vllm_offload_a.mmap":                InvalidName,
		"/etc/passwd":                        InvalidName,
		"../" + someName:                     InvalidName,
		Prefix:                               InvalidName,
		Prefix + "dir/../secret":             InvalidName,
		someName + "0":                       InvalidName,
		someName[:len(someName)-1]:           InvalidName,
		strings.ToUpper(someName):            InvalidName,
		someName[:len(someName)-1] + "/":     InvalidName,
		someName[:len(someName)-1] + "\x00":  InvalidName,
		Prefix + strings.Repeat(".", 32):     InvalidName,
		Prefix + strings.Repeat("0", 100000): InvalidName,
	} {
		answer := Read(dir, name)
		assert.Equal(t, v1.Unknown, answer.Outcome, "%.60q", name)
		assert.Equal(t, errno, answer.Error.Errno, "%.60q", name)
		assert.Less(t, len(answer.Error.Detail), 400)
	}
}

func TestSweepTakesOnlyWhatNobodyHolds(t *testing.T) {
	dir := directory(t)
	live := made(t, dir)
	keep := []string{live.Name(), "nccl-" + someName, someName + ".tmp", "vllm_offload_a.mmap", Prefix + "other"}
	for _, name := range keep[1:] {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	linked := Prefix + strings.Repeat("a", 32)
	require.NoError(t, os.Symlink(filepath.Join(dir, "vllm_offload_a.mmap"), filepath.Join(dir, linked)))
	pipe := Prefix + strings.Repeat("b", 32)
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, pipe), 0o600))
	keep = append(keep, linked, pipe)
	require.NoError(t, os.WriteFile(filepath.Join(dir, someName), nil, 0o600))
	orphan, fail := Make(dir)
	require.Nil(t, fail)
	require.NoError(t, unix.Close(orphan.fd), "as if its maker was killed")

	before := descriptors()
	assert.Equal(t, 2, Sweep(dir))
	assert.Equal(t, before, descriptors())
	assert.ElementsMatch(t, keep, names(t, dir))
	assert.Zero(t, Sweep(dir))
	assert.Equal(t, v1.Shared, Read(dir, live.Name()).Outcome)
	assert.Zero(t, Sweep(filepath.Join(dir, "nowhere")))
}

func TestSweepIsBounded(t *testing.T) {
	dir := directory(t)
	for i := range maxTried + 10 {
		name := Prefix + hex.EncodeToString([]byte{15: byte(i), 14: byte(i >> 8)})
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	assert.Equal(t, maxTried, Sweep(dir))
	assert.Equal(t, 10, Sweep(dir))
}

// A segment appears complete and locked, so that no sweep and no reader at any moment takes it for anything else.
func TestSweepsAndReadersRaceWithMakers(t *testing.T) {
	dir := directory(t)
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				assert.Zero(t, Sweep(dir), "a live segment was taken for stale")
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					answer := Read(dir, e.Name())
					assert.True(t, answer.Outcome == v1.Shared || answer.Error.Errno == "ENOENT", "%+v", answer)
				}
			}
		})
	}
	var makers sync.WaitGroup
	for range 4 {
		makers.Go(func() {
			for range 100 {
				s, fail := Make(dir)
				if !assert.Nil(t, fail) {
					return
				}
				assert.Equal(t, v1.Shared, Read(dir, s.Name()).Outcome)
				assert.NoError(t, s.Remove())
			}
		})
	}
	makers.Wait()
	close(stop)
	others.Wait()
	assert.Empty(t, names(t, dir))
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(nonce{1}))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, complete := decode(text)
		if complete {
			assert.Equal(t, text, encode(n))
		}
	})
}
