package pods

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLines is the highest number of lines in a log. When a log is full, the older half is deleted. The suite
// looks back at most at a few thousand requests.
const maxLines = 1 << 16

// lines is the log of a pod, with a time for each line. The zero value is an empty log.
type lines struct {
	mu  sync.Mutex
	all []line
}

type line struct {
	at   time.Time
	text string
}

// printf adds a line to the log.
func (l *lines) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == maxLines {
		l.all = slices.Delete(l.all, 0, maxLines/2)
	}
	l.all = append(l.all, line{at: time.Now(), text: strings.TrimSuffix(text, "\n")})
}

// Write adds text as one line, so that a standard logger can write to the log.
func (l *lines) Write(text []byte) (int, error) {
	l.printf("%s", text)
	return len(text), nil
}

// since returns the lines that are not older than d, or all lines if d is 0. Each line ends with a line feed.
func (l *lines) since(d time.Duration) []byte {
	from := time.Now().Add(-d)
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []byte{}
	for _, line := range l.all {
		if d == 0 || !line.at.Before(from) {
			out = append(append(out, line.text...), '\n')
		}
	}
	return out
}
