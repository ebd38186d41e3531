package facts

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// allocate makes a file of some bytes that are there, and of any apparent size.
func allocate(t *testing.T, path string, bytes, size int64) *os.File {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	if bytes > 0 {
		require.NoError(t, unix.Fallocate(int(f.Fd()), 0, 0, bytes))
	}
	require.NoError(t, f.Truncate(max(bytes, size)))
	return f
}

func shmOf(dir string) (*v1.ShmFacts, string) {
	r := reading{Collector: Collector{Shm: dir}}
	r.sharedMemory(nil)
	return r.facts.Shm, reasons(r.facts)
}

func TestSegments(t *testing.T) {
	dir := t.TempDir()
	for name, bytes := range map[string]int64{
		"vllm_offload_b.mmap": 8192, "vllm_offload_a.mmap": 8192, "vllm_offload_c.mmap": 65536,
		"nccl-x": 4096, "psm_1": 8192, "vllm_offloadx": 4096, "tiergate-probe-00": 4096,
	} {
		allocate(t, dir+"/"+name, bytes, 1<<30).Close()
	}
	require.NoError(t, os.Symlink("vllm_offload_a.mmap", dir+"/vllm_offload_link"))
	require.NoError(t, unix.Mkfifo(dir+"/vllm_offload_pipe", 0o600))
	allocate(t, dir+"/vllm_offload_live.mmap", 4096, 0)
	shm, absent := shmOf(dir)
	assert.Equal(t, []v1.StaleRegion{
		{Name: "vllm_offload_c.mmap", Bytes: 65536}, {Name: "vllm_offload_a.mmap", Bytes: 8192}, {Name: "vllm_offload_b.mmap", Bytes: 8192},
	}, shm.StaleRegions, "allocated bytes of files that nobody has open, the largest first")
	assert.Equal(t, &v1.ForeignSegments{Count: 5, Bytes: 16384}, shm.Foreign)
	assert.Empty(t, absent)
}

func TestNoSegments(t *testing.T) {
	shm, absent := shmOf(t.TempDir())
	assert.Equal(t, []v1.StaleRegion{}, shm.StaleRegions)
	assert.Equal(t, &v1.ForeignSegments{}, shm.Foreign)
	assert.Empty(t, absent)
}

func TestRegionInUse(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/vllm_offload_x.mmap"
	stale := func() int {
		shm, absent := shmOf(dir)
		require.Empty(t, absent)
		return len(shm.StaleRegions)
	}
	f := allocate(t, path, 4096, 0)
	assert.Zero(t, stale(), "open")
	region, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Zero(t, stale(), "mapped, and the descriptor closed")
	require.NoError(t, unix.Munmap(region))
	assert.Equal(t, 1, stale(), "let go")

	// Nothing is held afterwards: who opens the file for writing without waiting gets it at once.
	again, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	assert.Zero(t, stale(), "open again")
	require.NoError(t, again.Close())
}

// An engine that opens its region while ranks look at it gets it: a lease that is not given back would hold it up for
// /proc/sys/fs/lease-break-time, 45 s.
func TestWritersGetThrough(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/vllm_offload_x.mmap"
	require.NoError(t, allocate(t, path, 4096, 0).Close())
	var looking sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					shmOf(dir)
				}
			}
		})
	}
	for range 200 {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	close(done)
	looking.Wait()
}

func TestListingIsBounded(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/shm") // ten thousand files take seconds on a disk
	dir := t.TempDir()
	for i := range maxEntries + 10 {
		fd, err := unix.Open(fmt.Sprintf("%s/psm_%05d", dir, i), unix.O_CREAT|unix.O_WRONLY, 0o600)
		require.NoError(t, err)
		unix.Close(fd)
	}
	shm, absent := shmOf(dir)
	assert.EqualValues(t, maxEntries, shm.Foreign.Count)
	assert.Nil(t, shm.StaleRegions, "there may be some among the rest")
	why := dir + " has more than 10000 files, the rest was not looked at"
	assert.Equal(t, "shm.stale_regions: "+why+"; shm.foreign: "+why, absent)
}

func TestRegionsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxRegions + 6 {
		allocate(t, fmt.Sprintf("%s/vllm_offload_%02d", dir, i), 4096*int64(i), 0).Close()
	}
	shm, absent := shmOf(dir)
	require.Len(t, shm.StaleRegions, maxRegions)
	assert.Equal(t, v1.StaleRegion{Name: "vllm_offload_06", Bytes: 6 * 4096}, shm.StaleRegions[maxRegions-1])
	assert.Equal(t, "shm.stale_regions: 70 are left over, the largest 64 are listed", absent)
}
