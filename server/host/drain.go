package host

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// announceTime bounds the question how many requests are open.
const announceTime = time.Second

// announceDrain logs what the end waits for, and how to end at once.
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

// openRequests returns the number of open requests of all running Envoys. known is false if one
// does not answer in time.
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

// hurried reports whether the end should not wait any longer.
func (h *Host) hurried() bool {
	select {
	case <-h.options.Hurry:
		return true
	default:
		return false
	}
}
