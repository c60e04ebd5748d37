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
	// maxDelay bounds what a client can make the backend hold.
	maxDelay = time.Minute
	// maxCounted bounds how many requests are told apart by "times".
	maxCounted = 1000
)

// misbehaviour is what the query of a request asks for:
//
//	delay=300ms  the answer comes after that time, at most a minute
//	status=503   the answer has that status
//	times=2      … only the first two times that this path and query come, then 200 at once
type misbehaviour struct {
	delay  time.Duration
	status int
	// times is -1 for every time.
	times int
}

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

// counter counts requests by their target.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

// next gives how often the target has come before.
func (c *counter) next(target string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) >= maxCounted {
		c.seen = map[string]int{}
	}
	c.seen[target]++
	return c.seen[target] - 1
}

// statusOf waits as long as the request asks for and gives the status to answer
// with.
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
