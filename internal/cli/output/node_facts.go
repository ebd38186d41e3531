package output

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// NodeFacts writes what a process sees of where it runs, what it could not see, and what of that is likely to be in the
// way. Programs get the facts as they are in a report.
func NodeFacts(w io.Writer, format string, style Style, facts *v1.NodeFacts) error {
	if format != Text {
		return WriteDocuments(w, format, []any{facts})
	}
	p := &page{Style: style}
	p.text("", p.paint(bold, "process"))
	p.identity(facts)
	p.blank()
	p.text("", p.paint(bold, "/dev/shm"))
	p.sharedMemory(facts.Shm)
	p.blank()
	p.text("", p.paint(bold, "memory cgroup"))
	p.memory(facts.Memory)
	p.absent(facts.Absent)
	p.hints(facts)
	return p.flush(w)
}

// nameWidth is the width of the column that names facts: long values are wrapped below it (see maxHang).
const nameWidth = maxHang

// row writes a fact; those without a value are not written.
func (p *page) row(name, value string) {
	if value != "" {
		p.item("  ", fmt.Sprintf("%-*s", nameWidth, name), value)
	}
}

func (p *page) identity(f *v1.NodeFacts) {
	p.row("node", f.Node)
	if f.Hostname != f.Node {
		p.row("host name", f.Hostname)
	}
	p.row("pod", f.Pod)
	p.row("namespace", f.Namespace)
	p.row("pod uid", f.PodUID)
	p.row("boot id", f.BootID)
	ids := fmt.Sprintf("pid %d", f.PID)
	if f.UID != nil && f.GID != nil {
		ids += fmt.Sprintf(", uid %d, gid %d", *f.UID, *f.GID)
	}
	p.row("process", ids)
	var namespaces []string
	for _, kind := range slices.Sorted(maps.Keys(f.Namespaces)) {
		namespaces = append(namespaces, kind+" "+f.Namespaces[kind])
	}
	p.row("namespaces", strings.Join(namespaces, ", "))
}

func (p *page) sharedMemory(shm *v1.ShmFacts) {
	if shm == nil {
		p.text("  ", "not known")
		return
	}
	if shm.Device != "" {
		p.row("device", fmt.Sprintf("%s, inode %d", shm.Device, shm.Inode))
	}
	p.row("mount", mountText(shm))
	p.size("size", shm.TotalBytes)
	p.size("free", shm.FreeBytes)
	if shm.FreeInodes != nil && shm.TotalInodes != nil {
		p.row("inodes", fmt.Sprintf("%d of %d free", *shm.FreeInodes, *shm.TotalInodes))
	}
	if shm.StaleRegions != nil {
		p.files("left over", "region", int64(len(shm.StaleRegions)), staleBytes(shm))
	}
	for _, region := range shm.StaleRegions {
		p.text(strings.Repeat(" ", nameWidth+2), clean(region.Name)+", "+exactSize(region.Bytes))
	}
	if shm.Foreign != nil {
		p.files("others", "file", shm.Foreign.Count, shm.Foreign.Bytes)
	}
}

func mountText(shm *v1.ShmFacts) string {
	parts := []string{shm.Filesystem, "", "read-write"}
	if shm.Source != "" {
		parts[1] = "source " + shm.Source
	}
	if shm.ReadOnly {
		parts[2] = "read-only"
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

func (p *page) memory(memory *v1.MemoryFacts) {
	if memory == nil {
		p.text("  ", "not known")
		return
	}
	if memory.LimitBytes == nil {
		p.row("limit", "none found")
	}
	p.size("limit", memory.LimitBytes)
	p.size("usage", memory.UsageBytes)
}

// absent writes what is not known, facts with one reason together.
func (p *page) absent(list []v1.AbsentFact) {
	if len(list) == 0 {
		return
	}
	p.blank()
	p.text("", p.paint(bold, "not known"))
	for len(list) > 0 {
		reason, facts := list[0].Reason, ""
		list = slices.DeleteFunc(slices.Clone(list), func(a v1.AbsentFact) bool {
			if a.Reason == reason {
				facts += ", " + a.Fact
			}
			return a.Reason == reason
		})
		p.item("  ", strings.TrimPrefix(facts, ", ")+": ", reason)
	}
}

func (p *page) files(name, thing string, count, bytes int64) {
	if count == 0 {
		p.row(name, "none")
		return
	}
	p.row(name, counted(count, thing)+", "+exactSize(bytes))
}

func (p *page) size(name string, bytes *int64) {
	if bytes != nil {
		p.row(name, exactSize(*bytes))
	}
}

// exactSize writes a size for people and exactly.
func exactSize(bytes int64) string {
	text := fmt.Sprintf("%d bytes", bytes)
	if short := sizeText(bytes); short != text {
		return short + " (" + text + ")"
	}
	return text
}

// counted writes a number of things.
func counted(count int64, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}
