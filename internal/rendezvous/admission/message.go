package admission

import (
	"fmt"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func (c *ruling) message() string {
	var b strings.Builder
	if c.spans() {
		fmt.Fprintf(&b, "%s: engine %s", Spanning, c.engine)
	}
	for _, r := range c.failing {
		for _, v := range r.Violations {
			fmt.Fprintf(&b, "\n%s: %s", r.ID, v.Message)
		}
	}
	_ = v1.Allow
	return b.String()
}

// Spanning begins the message where node_local or the probe rejects, as vLLM's own error does (vllm 62930).
const Spanning = "TieringOffloadingSpec secondary tiers are not supported on engines whose workers span several nodes"

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// seen is what a process knows of its memory domain.
func seen(f *v1.NodeFacts) string {
	boot, device := domainOf(f)
	text := "boot id " + clean(boot, maxName)
	if boot == "" {
		text = "no boot id" + absence(f, "boot_id")
	}
	if device == "" {
		return text + ", no /dev/shm device" + absence(f, "shm.device")
	}
	return text + ", /dev/shm " + clean(device, maxName)
}

// absence is why a fact is not there.
func absence(f *v1.NodeFacts, fact string) string {
	for _, a := range f.Absent {
		if a.Fact == fact || strings.HasPrefix(fact, a.Fact+".") {
			return " (" + clean(a.Reason, maxReason) + ")"
		}
	}
	return ""
}
