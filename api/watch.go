package api

import (
	"context"
	"net/http"
	"time"
)

const (
	// heartbeat tells client and proxies that the stream lives.
	heartbeat = 15 * time.Second
	// leastPause is between two events of a stream. It grows with what an event costs, so that no watcher takes more than a
	// tenth of a processor.
	leastPause = 200 * time.Millisecond
	costlyTime = 10
)

var typeEvents = []string{"text/event-stream"}

// watch streams a view: as it is, and whenever it changed. It ends with an event that says why, unless the client left.
func (x *exchange) watch(v view) error {
	if _, err := v.make(); err != nil {
		return err
	}
	ctx, leave, err := x.server.watching.enter(x.r.Context())
	if err != nil {
		return err
	}
	defer leave()
	x.place = x.server.queue.guest()
	conn := http.NewResponseController(x.w)
	x.takeTime()
	header := x.w.Header()
	header["Content-Type"] = typeEvents
	header["Cache-Control"] = []string{"no-store"}
	header["X-Accel-Buffering"] = []string{"no"}
	header[headerID] = []string{x.id}
	x.status = http.StatusOK
	x.w.WriteHeader(x.status)
	if err := x.events(ctx, conn, v); err != nil && x.r.Context().Err() == nil {
		p := problemOf(x.r.Context(), err)
		x.code = p.Code
		_ = x.event(conn, "problem", encode(p)) // the stream ends anyhow
	}
	return nil
}

// events sends one event for each change that there is time to see, and the reason why there are no more.
func (x *exchange) events(ctx context.Context, conn *http.ResponseController, v view) error {
	beat := time.NewTicker(x.server.heartbeat)
	defer beat.Stop()
	for {
		start := time.Now()
		changed := x.server.rendezvous.Changed(v.key)
		seen, err := v.make()
		if err != nil {
			return err
		}
		if err := x.event(conn, v.event, encode(seen)); err != nil {
			return err
		}
		pause := time.NewTimer(max(leastPause, costlyTime*time.Since(start)))
		err = x.idle(ctx, conn, changed, pause.C, beat.C)
		pause.Stop()
		if err != nil {
			return err
		}
	}
}

// idle returns after the pause, once there was a change.
func (x *exchange) idle(ctx context.Context, conn *http.ResponseController, changed <-chan struct{}, pause, beat <-chan time.Time) error {
	for changed != nil || pause != nil {
		select {
		case <-changed:
			changed = nil
		case <-pause:
			pause = nil
		case <-beat:
			if err := x.write(conn, ": still here\n\n"); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// event writes one event. The document is a line, as all JSON that is written here.
func (x *exchange) event(conn *http.ResponseController, name string, document []byte) error {
	text := "event: " + name + "\ndata: " + string(document) + "\n\n"
	if err := x.place.reserve(int64(len(text))); err != nil {
		return err
	}
	defer x.place.release()
	return x.write(conn, text)
}

// write sends a piece of a stream. A client that does not take it within the write timeout is given up.
func (x *exchange) write(conn *http.ResponseController, text string) error {
	_ = conn.SetWriteDeadline(time.Now().Add(x.server.config.WriteTimeout))
	n, err := x.w.Write([]byte(text))
	x.sent += n
	if err != nil {
		return err
	}
	return conn.Flush()
}
