package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// hierarchy is how a version of cgroups names what we read.
type hierarchy struct {
	filesystem   string
	limit, usage string
}

var (
	cgroup1 = hierarchy{"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes"}
	cgroup2 = hierarchy{"cgroup2", "memory.max", "memory.current"}
)

// memoryController is the controller's name, in /proc/self/cgroup as in mount options.
const memoryController = "memory"

// unlimited is a limit that stands for none: version 1 writes the largest multiple of the page size that a long holds.
const unlimited = 1 << 62

// memory reads the memory cgroup that tmpfs pages of this process are charged to.
func (r *reading) memory(mounts []mount) {
	path := r.Proc + "/self/cgroup"
	text, err := readText(path, maxCgroup)
	if err != nil {
		r.absent(err, "memory")
		return
	}
	h, group, err := parseCgroup(text)
	if err != nil {
		r.absent(fmt.Errorf("%s: %w", path, err), "memory")
		return
	}
	dir, top, err := h.directory(group, mounts)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		r.absent(err, "memory")
		return
	}
	r.facts.Memory = &v1.MemoryFacts{}
	r.limits(h, dir, top)
}

// parseCgroup returns the cgroup that accounts for memory. On a machine with both versions the controller is in one of
// them.
func parseCgroup(text string) (h hierarchy, group string, err error) {
	for line := range strings.SplitSeq(text, "\n") {
		// Lines are id:controllers:path; the path may have colons, and version 2 has no controllers.
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		if slices.Contains(strings.Split(parts[1], ","), memoryController) {
			return cgroup1, parts[2], nil
		}
		if parts[0] == "0" && parts[1] == "" {
			h, group = cgroup2, parts[2]
		}
	}
	if group == "" {
		return h, "", errors.New("no cgroup that accounts for memory")
	}
	return h, group, nil
}

// directory returns where a cgroup is mounted, and the highest directory of that mount. In a container the path is as
// the host sees it unless there is a cgroup namespace, and the mount shows the container's own part only.
func (h hierarchy) directory(group string, mounts []mount) (dir, top string, err error) {
	for _, m := range slices.Backward(mounts) {
		if m.filesystem != h.filesystem || h == cgroup1 && !slices.Contains(m.options, memoryController) {
			continue
		}
		// A cgroup outside the process's namespace begins with /.. and is in no mount that one may trust.
		if rest, below := relative(group, m.root); below && !strings.Contains(group+"/", "/../") {
			return filepath.Join(m.point, rest), filepath.Clean(m.point), nil
		}
	}
	return "", "", fmt.Errorf("cgroup %s is not below any mounted %s", group, h.filesystem)
}

// limits takes the smallest limit of a cgroup and those above it, as far as they are visible, and the usage where that
// limit is. A container sees its own limit, not the pod's, if it has a cgroup namespace.
func (r *reading) limits(h hierarchy, dir, top string) {
	facts, holder := r.facts.Memory, ""
	for at := dir; ; at = filepath.Dir(at) {
		limit, err := readBytes(filepath.Join(at, h.limit))
		switch {
		case errors.Is(err, fs.ErrNotExist): // the root, or a cgroup whose memory is accounted for above
		case err != nil:
			r.absent(err, "memory.limit_bytes")
		case holder == "" || limit < unlimited && (facts.LimitBytes == nil || limit < *facts.LimitBytes):
			holder = at
			if limit < unlimited {
				facts.LimitBytes = &limit
			}
		}
		if at == top || at == filepath.Dir(at) {
			break
		}
	}
	if holder == "" {
		holder = dir
	}
	usage, err := readBytes(filepath.Join(holder, h.usage))
	if err != nil {
		r.absent(err, "memory.usage_bytes")
		return
	}
	facts.UsageBytes = &usage
}

// readBytes reads a number of bytes; "max" is unlimited.
func readBytes(path string) (int64, error) {
	text, err := readText(path, maxLine)
	if err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	if text == "max" {
		return unlimited, nil
	}
	bytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil || bytes < 0 {
		return 0, fmt.Errorf("%s has %.60q, which is no number of bytes", path, text)
	}
	return bytes, nil
}
