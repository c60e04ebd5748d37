package handler

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	// maxDelay limits how long a request can delay its answer.
	maxDelay = time.Minute
	// maxCounted limits how many request targets are counted for "times".
	maxCounted = 1000
)

// misbehaviour is how the query of a request changes the answer:
//
//	delay=300ms  the answer is sent after that time, at most a minute
//	status=503   the answer has that status
//	times=2      delay and status apply only to the first two requests for this path and query
type misbehaviour struct {
	delay  time.Duration
	status int
	// times is the number of requests that delay and status apply to; -1 means all.
	times int
}

// parseMisbehaviour parses the query parameters. The defaults are no delay, status 200 and all requests. The
// error names the parameter that is invalid.
func parseMisbehaviour(query url.Values) (misbehaviour, error) {
	m := misbehaviour{status: http.StatusOK, times: -1}
	var err error
	if text := query.Get("delay"); text != "" {
		if m.delay, err = time.ParseDuration(text); err != nil || m.delay < 0 || m.delay > maxDelay {
			return m, fmt.Errorf("delay: want a time up to %s such as 300ms, got %q", maxDelay, text)
		}
	}
	if text := query.Get("status"); text != "" {
		if m.status, err = strconv.Atoi(text); err != nil || m.status < 200 || m.status > 599 {
			return m, fmt.Errorf("status: want a number from 200 to 599, got %q", text)
		}
	}
	if text := query.Get("times"); text != "" {
		if m.times, err = strconv.Atoi(text); err != nil || m.times < 0 {
			return m, fmt.Errorf("times: want a number, got %q", text)
		}
	}
	return m, nil
}

// counter counts requests by their path and query.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

// next returns how many earlier requests had this target, and counts one more. All counts start again from 0
// when maxCounted targets are counted.
func (c *counter) next(target string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) >= maxCounted {
		c.seen = map[string]int{}
	}
	c.seen[target]++
	return c.seen[target] - 1
}

// statusOf returns the status of the answer to r, after the delay that the query sets. If the query limits the
// number of affected requests and r is a later one, it returns 200 at once. It returns 400 and an error if the
// query is invalid.
func (c *counter) statusOf(r *http.Request) (int, error) {
	m, err := parseMisbehaviour(r.URL.Query())
	if err != nil {
		return http.StatusBadRequest, err
	}
	if m.times >= 0 && c.next(r.RequestURI) >= m.times {
		return http.StatusOK, nil
	}
	select {
	case <-time.After(m.delay):
	case <-r.Context().Done():
	}
	return m.status, nil
}
