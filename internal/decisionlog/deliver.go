package decisionlog

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"
)

// batch is some records as JSON lines.
type batch struct {
	lines []byte
	count int64
}

// run moves records on until the log is stopped and its queue is empty.
func (l *Log) run() {
	words := &teller{log: l.opts.Logger}
	if l.spool != nil {
		l.tasks.Go(l.ship)
		defer l.spool.finish()
	}
	for {
		b, more := l.gather()
		switch {
		case b.count == 0:
		case l.spool == nil:
			if !l.send(b, words) {
				l.drop(DropShutdown, b.count)
			}
		default:
			l.keep(b, words)
		}
		if !more {
			return
		}
	}
}

// gather waits for a record and takes those with it that are there, or come while it lingers. It tells whether more may come.
func (l *Log) gather() (b batch, more bool) {
	select {
	case q := <-l.queue:
		l.add(&b, q)
	case <-l.stop:
	}
	// It sleeps rather than taking each as it comes: waking up for every record would cost more than the record.
	if l.opts.Linger > 0 && l.spool == nil && l.waiting.Load() < maxBatch {
		timer := time.NewTimer(l.opts.Linger)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.pressing:
		case <-l.stop:
		}
	}
	for len(b.lines) < maxBatch {
		select {
		case q := <-l.queue:
			l.add(&b, q)
		default:
			return b, !l.stopping.Load() || len(l.queue) > 0
		}
	}
	return b, true
}

func (l *Log) add(b *batch, q queued) {
	l.waiting.Add(-q.bytes)
	r := *q.record
	r.Labels = l.opts.Labels
	if r.Input != nil {
		r.Input, r.Masked = Mask(r.Input)
	}
	result := r.Result
	r.Result = nil // it is JSON on one line already, and encoding it anew would cost more than all the rest
	line, err := json.Marshal(&r)
	if err == nil && len(result) > 0 {
		line = append(line[:len(line)-1], `,"result":`...)
		line = append(append(line, result...), '}')
	}
	if err == nil {
		line, err = erase(line, l.opts.Mask())
	}
	if err != nil {
		l.opts.Logger.Error("decision not recorded", "decision_id", r.DecisionID, "error", err)
		l.drop(DropRefused, 1)
		return
	}
	if l.opts.RecentBytes > 0 {
		l.recent.add(r.Tenant, r.Engine, line)
	}
	b.lines = append(append(b.lines, line...), '\n')
	b.count++
}

// keep puts a batch on disk.
func (l *Log) keep(b batch, words *teller) {
	err := l.spool.append(b.lines)
	switch {
	case err == nil:
		l.spooled.Add(b.count)
	case errors.Is(err, errSpoolFull):
		l.drop(DropSpool, b.count)
	default:
		l.drop(DropDisk, b.count)
	}
	words.tell(err, "decision log cannot be spooled")
}

// ship delivers what is spooled, until the log is stopped and nothing is left or the time is over.
func (l *Log) ship() {
	words := &teller{log: l.opts.Logger}
	for l.sending.Err() == nil {
		b, corrupt, err := l.spool.next(l.sending, l.opts.Linger)
		l.drop(DropCorrupt, corrupt)
		switch {
		case err != nil:
			words.tell(err, "spooled decisions cannot be read")
			pause(l.sending, time.Second)
		case b.count == 0:
			return
		case l.send(b, words):
			l.spool.commit()
		}
	}
}

// send gives a batch to the sink, again and again until it is taken, refused, or the time is over. It tells whether the batch
// is done with.
func (l *Log) send(b batch, words *teller) bool {
	for wait := firstBackoff; ; wait = min(2*wait, lastBackoff) {
		err := l.opts.Sink.Write(l.sending, b.lines)
		words.tell(err, "decision log cannot be delivered")
		switch {
		case err == nil:
			l.delivered.Add(b.count)
			return true
		case errors.Is(err, ErrRefused):
			l.drop(DropRefused, b.count)
			return true
		}
		if !pause(l.sending, wait/2+rand.N(wait/2)) {
			return false
		}
	}
}

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// teller logs when failures begin and when they end.
type teller struct {
	log     *slog.Logger
	failing bool
}

func (t *teller) tell(err error, message string) {
	switch {
	case err != nil && !t.failing:
		t.log.Error(message, "error", err)
	case err == nil && t.failing:
		t.log.Info("decision log works again")
	}
	t.failing = err != nil
}
