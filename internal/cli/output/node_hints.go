package output

import (
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// runtimeDefault is the size that container runtimes give /dev/shm unless they are told another.
const runtimeDefault = 64 << 20

// enlarge is how /dev/shm becomes a large tmpfs.
const enlarge = "mount an emptyDir with medium: Memory and a sizeLimit there, or run the container with --shm-size " +
	"or --ipc=host"

// hints writes what is likely to keep an engine from coming up here, and what to do. It judges no launch: how large a
// region must be is not known here.
func (p *page) hints(f *v1.NodeFacts) {
	var list []string
	if f.BootID == "" {
		list = append(list, "without a boot id the rules cannot tell which ranks share memory, and only the probe at "+
			"KV registration decides")
	}
	if f.Shm != nil {
		list = append(list, shmHints(f.Shm)...)
		list = append(list, headroomHint(f.Shm, f.Memory)...)
	} else {
		list = append(list, "a CPU region needs /dev/shm: "+enlarge)
	}
	if len(list) == 0 {
		return
	}
	p.blank()
	p.text("", p.paint(yellow, "look at"))
	for _, hint := range list {
		p.item("  ", "- ", hint)
	}
}

func shmHints(shm *v1.ShmFacts) (list []string) {
	if shm.ReadOnly {
		list = append(list, "/dev/shm is read-only, so that neither a region nor a probe can be made there: mount it read-write")
	}
	if shm.Filesystem != "" && shm.Filesystem != "tmpfs" {
		list = append(list, fmt.Sprintf("/dev/shm is %s, not tmpfs: the probe answers unknown (not_tmpfs), and engines with "+
			"secondary tiers on several ranks are rejected; %s", shm.Filesystem, enlarge))
	} else {
		list = append(list, roomHints(shm)...)
	}
	if count := int64(len(shm.StaleRegions)); count > 0 {
		list = append(list, fmt.Sprintf("%s left behind with %s, which no process has open for writing: rm /dev/shm/NAME",
			counted(count, "CPU region"), sizeText(staleBytes(shm))))
	}
	return list
}

func roomHints(shm *v1.ShmFacts) (list []string) {
	switch total, free := shm.TotalBytes, shm.FreeBytes; {
	case total == nil || free == nil:
	case *total == runtimeDefault:
		list = append(list, "/dev/shm has 64 MiB, which is what container runtimes give by default and too little for "+
			"a CPU region: "+enlarge)
	case *free < *total/10:
		list = append(list, fmt.Sprintf("/dev/shm is nearly full, %s of %s are free: %s",
			sizeText(*free), sizeText(*total), whatToFree(shm, *total-*free)))
	}
	if shm.FreeInodes != nil && shm.TotalInodes != nil && *shm.FreeInodes < *shm.TotalInodes/100 {
		list = append(list, fmt.Sprintf("/dev/shm has %d of %d inodes left, and each file takes one: remove files, or mount "+
			"it with a larger nr_inodes", *shm.FreeInodes, *shm.TotalInodes))
	}
	return list
}

// whatToFree names who takes the used bytes.
func whatToFree(shm *v1.ShmFacts, used int64) string {
	switch {
	case staleBytes(shm) > used/2:
		return "remove the regions that were left behind"
	case shm.Foreign != nil && shm.Foreign.Bytes > used/2:
		return fmt.Sprintf("%s of other programs hold %s (ls -l /dev/shm); remove those that were left behind, or enlarge it",
			counted(shm.Foreign.Count, "file"), sizeText(shm.Foreign.Bytes))
	}
	return "stop what uses it, or enlarge it"
}

// headroomHint tells when the container is killed before /dev/shm is full: its pages count as the container's memory.
func headroomHint(shm *v1.ShmFacts, memory *v1.MemoryFacts) []string {
	if shm.FreeBytes == nil || memory == nil || memory.LimitBytes == nil || memory.UsageBytes == nil {
		return nil
	}
	headroom := max(*memory.LimitBytes-*memory.UsageBytes, 0)
	if headroom >= *shm.FreeBytes {
		return nil
	}
	return []string{fmt.Sprintf("files in /dev/shm count as memory of the cgroup, which allows about %s more, while "+
		"/dev/shm has %s free: an engine whose region is larger is killed; raise the memory limit or keep cpu_bytes_to_use below that",
		sizeText(headroom), sizeText(*shm.FreeBytes))}
}

func staleBytes(shm *v1.ShmFacts) (sum int64) {
	for _, region := range shm.StaleRegions {
		sum += region.Bytes
	}
	return sum
}
