package envoytest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Target is one kind of request that a Load sends over and over.
type Target struct {
	// Name identifies the target in results.
	Name string
	// Request must be safe to send twice (see Result.Resent).
	Request Request
	// Check returns an error for a wrong response; nil expects status 200. Many goroutines call
	// it at once.
	Check func(*Response) error
}

// LoadOptions configure a load. It ends after Requests or Duration, whatever comes first.
type LoadOptions struct {
	Targets []Target // in turn
	// Rate is in requests per second over all targets; 0 means 1,000.
	Rate int
	// Requests is the most requests that are sent; 0 means 1,000,000. A Duration of 0 means 5
	// minutes.
	Requests int
	Duration time.Duration
	// FreshEvery sends every n-th request to a target on a new connection; the others reuse
	// connections. 0 means 4, 1 reuses none.
	FreshEvery int
}

// workers is how many requests may be on their way at once, and how many
// connections to each address are kept alive.
const workers = 16

// keptFailures bounds Result.Failures: the first ones tell what went wrong.
const keptFailures = 20

// Load sends requests at a constant rate from the moment that StartLoad returns. A late
// response delays no request of another worker. Requests that are late go out as soon as
// possible, so that the average rate is kept.
type Load struct {
	options LoadOptions
	encoded [][]byte // the targets' requests
	started time.Time
	next    atomic.Int64    // number of the next request
	ctx     context.Context // ends with the load
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	result Result
}

// Result is the outcome of a Load so far.
type Result struct {
	Requests, Failed int
	// Fresh is how many requests had a connection of their own.
	Fresh int
	// Resent counts requests that were sent again because a kept-alive connection was already
	// closed. They are no failures.
	Resent int
	// Targets are the counts by Target.Name.
	Targets map[string]Count
	// Failures are the first 20 failures.
	Failures []Failure
	Elapsed  time.Duration
	Slowest  time.Duration
}

// Count is the requests and failures of one target.
type Count struct{ Requests, Failed int }

// Failure is one request that did not get the right response.
type Failure struct {
	Target string
	// At is the time since the start of the load.
	At    time.Duration
	Fresh bool
	Err   error
}

// String returns the counts and the first failures.
func (r Result) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d requests in %.1fs (%d on fresh connections, %d sent again, slowest %v), %d failed",
		r.Requests, r.Elapsed.Seconds(), r.Fresh, r.Resent, r.Slowest.Round(time.Microsecond), r.Failed)
	for _, f := range r.Failures {
		fmt.Fprintf(&out, "\n  %v %s (fresh connection: %t): %v", f.At.Round(time.Millisecond), f.Target, f.Fresh, f.Err)
	}
	return out.String()
}

// StartLoad starts a load, which ends with the test at the latest.
func StartLoad(t testing.TB, options LoadOptions) *Load {
	t.Helper()
	if len(options.Targets) == 0 {
		t.Fatal("a load without targets")
	}
	options.Rate = orDefault(options.Rate, 1000)
	options.Requests = orDefault(options.Requests, 1_000_000)
	options.Duration = orDefault(options.Duration, 5*time.Minute)
	options.FreshEvery = orDefault(options.FreshEvery, 4)
	l := &Load{options: options, started: time.Now()}
	l.result.Targets = map[string]Count{}
	l.ctx, l.cancel = context.WithTimeout(t.Context(), options.Duration)
	for _, target := range options.Targets {
		l.encoded = append(l.encoded, target.Request.encode())
	}
	for range workers {
		l.running.Go(l.work)
	}
	t.Cleanup(func() { l.Stop() })
	return l
}

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Stop ends the load, waits for requests under way, and returns the result. Further calls
// return the same result.
func (l *Load) Stop() Result {
	l.cancel()
	return l.Wait()
}

// StopAfter is Stop once so many requests were sent, or the load has reached its limits.
func (l *Load) StopAfter(requests int) Result {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	for l.Result().Requests < requests {
		select {
		case <-ended:
			return l.Result()
		case <-tick.C:
		}
	}
	return l.Stop()
}

// Wait returns the result once the load has reached its limits.
func (l *Load) Wait() Result {
	l.running.Wait()
	return l.Result()
}

// Result returns the result so far.
func (l *Load) Result() Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	result := l.result
	result.Failures = slices.Clone(result.Failures)
	result.Targets = make(map[string]Count, len(l.result.Targets))
	for name, count := range l.result.Targets {
		result.Targets[name] = count
	}
	return result
}

// work sends each request that it draws when it is due.
func (l *Load) work() {
	w := worker{load: l, client: NewClient()}
	defer w.client.Close()
	interval := time.Second / time.Duration(l.options.Rate)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		number := int(l.next.Add(1)) - 1
		if number >= l.options.Requests {
			return
		}
		timer.Reset(time.Duration(number)*interval - time.Since(l.started))
		select {
		case <-l.ctx.Done():
			return
		case <-timer.C:
			w.send(number)
		}
	}
}

// worker sends one request after the other.
type worker struct {
	load   *Load
	client *Client
}

// send sends the request of that number and books what came of it.
func (w *worker) send(number int) {
	l := w.load
	index := number % len(l.options.Targets)
	target := l.options.Targets[index]
	fresh := number/len(l.options.Targets)%l.options.FreshEvery == 0

	began := time.Now()
	response, resent, err := w.client.exchange(target.Request, l.encoded[index], fresh)
	took := time.Since(began)
	if err == nil {
		err = check(target, response)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.result.book(Failure{target.Name, began.Sub(l.started), fresh, err})
	l.result.Slowest = max(l.result.Slowest, took)
	l.result.Elapsed = time.Since(l.started)
	if resent {
		l.result.Resent++
	}
}

// book counts one request, which has failed when f.Err is set.
func (r *Result) book(f Failure) {
	count := r.Targets[f.Target]
	r.Requests++
	count.Requests++
	if f.Fresh {
		r.Fresh++
	}
	if f.Err != nil {
		r.Failed++
		count.Failed++
		if len(r.Failures) < keptFailures {
			r.Failures = append(r.Failures, f)
		}
	}
	r.Targets[f.Target] = count
}

func check(target Target, response *Response) error {
	if target.Check != nil {
		return target.Check(response)
	}
	if response.Status != http.StatusOK {
		return fmt.Errorf("status %d: %s", response.Status, response.Body)
	}
	return nil
}
