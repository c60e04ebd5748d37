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

// Target is a request that a Load sends repeatedly.
type Target struct {
	// Name identifies the target in results.
	Name string
	// Request must be safe to send twice (see Result.Resent).
	Request Request
	// Check returns an error if the response is wrong. If Check is nil, the status must be 200. Many goroutines
	// call Check at the same time.
	Check func(*Response) error
}

// LoadOptions configure a Load. The load ends after Requests or after Duration, whichever is reached first.
type LoadOptions struct {
	Targets []Target // sent in turn
	// Rate is the number of requests per second to all targets together; 0 means 1,000.
	Rate int
	// Requests is the highest number of requests to send; 0 means 1,000,000. A Duration of 0 means 5 minutes.
	Requests int
	Duration time.Duration
	// FreshEvery is n if every n-th request to a target uses a new connection. Other requests reuse
	// connections. 0 means 4, and 1 means that no connection is reused.
	FreshEvery int
}

// workers is how many requests may be open at the same time. Each worker has one connection for each address.
const workers = 16

// keptFailures limits the length of Result.Failures.
const keptFailures = 20

// Load sends requests at a constant rate. StartLoad starts it. A slow response does not delay requests of other
// workers. A request that is late is sent as soon as possible, so that the average rate stays the same.
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

// Result is the result of a Load, final or up to now.
type Result struct {
	Requests, Failed int
	// Fresh is how many requests used a new connection because of LoadOptions.FreshEvery.
	Fresh int
	// Resent is how many requests were sent again because the server had closed a kept-alive connection. They
	// are not failures.
	Resent int
	// Targets has the counts of each target, by Target.Name.
	Targets map[string]Count
	// Failures are the first 20 failures.
	Failures []Failure
	Elapsed  time.Duration
	Slowest  time.Duration
}

// Count has the numbers of requests and failures of one target.
type Count struct{ Requests, Failed int }

// Failure is a request without a correct response.
type Failure struct {
	Target string
	// At is the time since the start of the load.
	At    time.Duration
	Fresh bool
	Err   error
}

// String returns the counts and the first failures as text.
func (r Result) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d requests in %.1fs (%d on fresh connections, %d sent again, slowest %v), %d failed",
		r.Requests, r.Elapsed.Seconds(), r.Fresh, r.Resent, r.Slowest.Round(time.Microsecond), r.Failed)
	for _, f := range r.Failures {
		fmt.Fprintf(&out, "\n  %v %s (fresh connection: %t): %v", f.At.Round(time.Millisecond), f.Target, f.Fresh, f.Err)
	}
	return out.String()
}

// StartLoad starts a load. The load ends when the test ends, or earlier.
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

// orDefault returns the parameter value, unless it is 0: then orDefault returns the parameter otherwise.
func orDefault[T int | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Stop ends the load, waits for open requests, and returns the result. Further calls return the same result.
func (l *Load) Stop() Result {
	l.cancel()
	return l.Wait()
}

// StopAfter waits until the given number of requests was answered or failed, or until the load has ended. Then it
// stops the load and returns the result.
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

// Wait waits until the load has ended, usually by the limits in LoadOptions, and returns the result.
func (l *Load) Wait() Result {
	l.running.Wait()
	return l.Result()
}

// Result returns the result up to now.
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

// work sends requests until the load ends. The number of a request decides when the request is due.
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

// worker sends requests one after the other.
type worker struct {
	load   *Load
	client *Client
}

// send sends the request with this number and adds its outcome to the result.
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

// book counts one request. The request has failed if f.Err is not nil.
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

// check returns an error if the response of a target is wrong, see Target.Check.
func check(target Target, response *Response) error {
	if target.Check != nil {
		return target.Check(response)
	}
	if response.Status != http.StatusOK {
		return fmt.Errorf("status %d: %s", response.Status, response.Body)
	}
	return nil
}
