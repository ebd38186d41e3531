//go:build linux

package soak

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// act is one thing that a misbehaving client does with a fresh connection, before it closes it.
type act struct {
	name string
	// clients do it at once, again and again.
	clients int
	do      func(ctx context.Context, conn net.Conn)
	// target chooses where; nil means all that take requests, in turns.
	target func(*Service) Target
	// raw sends its bytes as they are, also where TLS is spoken.
	raw bool
}

// Misconduct is what misbehaving clients did and what they were told.
type Misconduct struct {
	Acts     int
	Statuses map[int]int
	// Wrong is what no client must be told, whatever it did; First is the first of these.
	Wrong int
	First string
}

// Misbehave lets all kinds of clients misbehave until the context ends.
func Misbehave(ctx context.Context, s *Service) *Misconduct {
	m := &Misconduct{Statuses: map[int]int{}}
	var mu sync.Mutex
	var running sync.WaitGroup
	for _, a := range acts {
		targets := []Target{s.Plain, s.Unix}
		if a.target != nil {
			targets = []Target{a.target(s)}
		}
		for i := range a.clients {
			target := targets[i%len(targets)]
			if target.Address == "" || a.raw && target.TLS == nil {
				continue
			}
			if a.raw {
				target.TLS = nil
			}
			running.Go(func() {
				for ctx.Err() == nil {
					statuses := a.once(ctx, target)
					mu.Lock()
					m.note(a.name, statuses)
					mu.Unlock()
				}
			})
		}
	}
	running.Wait()
	return m
}

// restTime is between two acts of one client, so that clients that are refused at once do not spin.
const restTime = 500 * time.Millisecond

// once connects, acts, and returns the statuses that came back meanwhile.
func (a *act) once(ctx context.Context, t Target) (statuses []int) {
	defer rest(ctx, restTime)
	conn, err := t.dial(ctx)
	if err != nil {
		return nil
	}
	forget := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer forget()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	seen := make(chan []int, 1)
	heard := &listener{Conn: conn, statuses: seen}
	a.do(ctx, heard)
	_ = conn.Close()
	if heard.listening {
		statuses = <-seen
	}
	return statuses
}

// Add adds what other clients did.
func (m *Misconduct) Add(o *Misconduct) {
	m.Acts += o.Acts
	m.Wrong += o.Wrong
	m.First = cmp.Or(m.First, o.First)
	if m.Statuses == nil {
		m.Statuses = map[int]int{}
	}
	for status, n := range o.Statuses {
		m.Statuses[status] += n
	}
}

func (m *Misconduct) note(name string, statuses []int) {
	m.Acts++
	for _, status := range statuses {
		m.Statuses[status]++
		if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
			m.Wrong++
			if m.First == "" {
				m.First = fmt.Sprintf("%s: status %d", name, status)
			}
		}
	}
}

// listener is a connection of which the answers can be read beside what is written.
type listener struct {
	net.Conn
	statuses  chan []int
	listening bool
}

// listen reads answers until there are no more, and returns a channel that is closed then.
func listen(conn net.Conn) <-chan struct{} {
	l := conn.(*listener)
	l.listening = true
	ended := make(chan struct{})
	go func() {
		var statuses []int
		defer func() { l.statuses <- statuses }()
		defer close(ended)
		for in := bufio.NewReader(conn); ; {
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				return
			}
			statuses = append(statuses, response.StatusCode)
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if err != nil || response.Close {
				return
			}
		}
	}()
	return ended
}

// rest returns after the time or when the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// statuses are the counts by status, for people.
func (m *Misconduct) statuses() string {
	text := ""
	for _, status := range slices.Sorted(maps.Keys(m.Statuses)) {
		text += fmt.Sprintf("%d: %d  ", status, m.Statuses[status])
	}
	return text
}
