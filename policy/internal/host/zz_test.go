package host
import ("testing";"time";"fmt";"runtime";"context";"golang.org/x/sys/unix")
type probe struct{ context.Context; last, max time.Duration; n int }
func cpu() time.Duration { var ts unix.Timespec; unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID,&ts); return time.Duration(ts.Nano()) }
func (p *probe) Deadline() (time.Time,bool) { now:=cpu(); if p.n>0 && now-p.last>p.max { p.max=now-p.last }; p.last=cpu(); p.n++; return p.Context.Deadline() }
func TestZZ(t *testing.T){
	runtime.LockOSThread()
	entrypoints, source := hostile()
	m := loadModule(t, roomy, "{}", entrypoints, source)
	for _, what := range []string{"endless","hashes","compares","wide","memory","cascade","deep","nested"} {
		ctx, cancel := context.WithTimeout(context.Background(), 1000*time.Millisecond)
		p:=&probe{Context:ctx}
		in,_:=m.Instantiate(ctx)
		id,_:=m.Entrypoint("p/"+what)
		_,_,err:=in.Eval(p,id,[]byte(`{}`),nil); in.Close(ctx)
		cancel()
		fmt.Println(what, "slices", p.n, "max cpu between looks", p.max, "mem", in.mem.Size()>>20, err)
	}
}
