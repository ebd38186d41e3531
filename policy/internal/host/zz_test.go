package host
import ("testing";"time";"fmt";"runtime";"context";"golang.org/x/sys/unix")
type probe struct{ context.Context; last time.Duration; in *Instance; n int; size uint32 }
func cpu() time.Duration { var ts unix.Timespec; unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID,&ts); return time.Duration(ts.Nano()) }
func (p *probe) Deadline() (time.Time,bool) { now:=cpu(); if p.n>0 && now-p.last>5*time.Millisecond { fmt.Println("  slice",p.n,now-p.last,"mem",p.size>>16,"->",p.in.mem.Size()>>16) }; p.size=p.in.mem.Size(); p.last=cpu(); p.n++; return p.Context.Deadline() }
func TestZZ(t *testing.T){
	runtime.LockOSThread()
	entrypoints, source := hostile()
	m := loadModule(t, roomy, "{}", entrypoints, source)
	for _, what := range []string{"endless","memory","deep","compares"} {
		fmt.Println(what)
		ctx, cancel := context.WithTimeout(context.Background(), 1000*time.Millisecond)
		in,_:=m.Instantiate(ctx)
		p:=&probe{Context:ctx,in:in}
		id,_:=m.Entrypoint("p/"+what)
		_,_,_=in.Eval(p,id,[]byte(`{}`),nil); in.Close(ctx)
		cancel()
	}
}
