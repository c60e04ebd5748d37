package host

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// announceTime limits how long announceDrain waits for the numbers of open requests.
const announceTime = time.Second

// announceDrain logs for how many open requests gatefold waits before it ends, and how the user can end gatefold
// at once. The message has no number if the number is not known. If no request is open, the message says only
// that. If the user has already asked for the end (see Options.Hurry), nothing is logged.
func (h *Host) announceDrain() {
	if h.hurried() {
		return
	}
	open, known := h.openRequests()
	what := "open requests"
	switch {
	case known && open == 0:
		h.log.Info().Msg("stopping: no request is open")
		return
	case known && open == 1:
		what = "1 open request"
	case known:
		what = fmt.Sprintf("%d open requests", open)
	}
	h.log.Info().Msgf("stopping: waiting up to %s for %s; press Ctrl-C again to stop now", h.options.DrainTime, what)
}

// openRequests returns the sum of the open requests of all running Envoys. If an Envoy did not answer within
// announceTime, the result known is false, and the sum lacks the requests of that Envoy.
func (h *Host) openRequests() (open int, known bool) {
	ctx, cancel := context.WithTimeout(context.Background(), announceTime)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	known = true
	for _, state := range h.States() {
		if state.Pid == 0 {
			continue
		}
		group.Go(func() {
			n, err := filesOf(h.options.Folder, state.Gateway).admin().openRequests(ctx)
			mu.Lock()
			defer mu.Unlock()
			open, known = open+n, known && err == nil
		})
	}
	group.Wait()
	return open, known
}

// hurried reports whether Options.Hurry is closed: the user does not want to wait for open requests.
func (h *Host) hurried() bool {
	select {
	case <-h.options.Hurry:
		return true
	default:
		return false
	}
}
