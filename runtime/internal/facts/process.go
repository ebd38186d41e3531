package facts

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// What one may ask of files that the kernel writes, in bytes. A host with ten thousand mounts has a mountinfo of some
// MiB.
const (
	maxLine      = 4 << 10
	maxCgroup    = 64 << 10
	maxMountinfo = 16 << 20
)

var (
	bootID         = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	namespaceKinds = []string{"mnt", "ipc", "pid", "net", "user", "uts"}
)

// process reads which kernel this is and who the process is there. The user is the effective one, which decides what
// the process may open in /dev/shm.
func (r *reading) process() {
	path := r.Proc + "/sys/kernel/random/boot_id"
	text, err := readText(path, maxLine)
	text = strings.TrimSpace(text)
	if err == nil && !bootID.MatchString(text) {
		// A made-up id that two machines have in common would join them to one memory domain.
		err = fmt.Errorf("%s has %.60q, which is no boot id", path, text)
	}
	if err != nil {
		r.absent(err, "boot_id")
	} else {
		r.facts.BootID = text
	}
	uid, gid := int64(os.Geteuid()), int64(os.Getegid())
	r.facts.PID, r.facts.UID, r.facts.GID = int64(os.Getpid()), &uid, &gid
	r.namespaces()
}

func (r *reading) namespaces() {
	found := map[string]string{}
	for _, kind := range namespaceKinds {
		path := r.Proc + "/self/ns/" + kind
		target, err := os.Readlink(path) // mnt:[4026531841]
		inode := strings.TrimSuffix(strings.TrimPrefix(target, kind+":["), "]")
		switch {
		case err != nil:
			r.absent(err, "namespaces."+kind)
		case len(inode)+len(kind)+len(":[]") != len(target):
			r.absent(fmt.Errorf("%s points to %.60q", path, target), "namespaces."+kind)
		default:
			found[kind] = inode
		}
	}
	if len(found) > 0 {
		r.facts.Namespaces = found
	}
}
