package rendezvous

import "time"

// lingering is how long an incarnation counts as live after its last call ended: between two calls of a long poll nobody
// is connected.
const lingering = 2 * time.Second

// presence says whether an incarnation is being served by this process.
type presence struct {
	calls int
	left  time.Time
}

func (p *presence) enter() { p.calls++ }

func (p *presence) leave() {
	p.calls--
	p.left = time.Now()
}

func (p *presence) live() bool {
	return p.calls > 0 || !p.left.IsZero() && time.Since(p.left) < lingering
}
