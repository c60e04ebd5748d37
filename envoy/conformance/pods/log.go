package pods

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLines bounds a log: the older half goes when it is reached. The longest
// that the suite looks back at are a few thousand requests.
const maxLines = 1 << 16

// lines is the log of a pod: what its program says on standard output, each
// line with its time. The zero value is empty.
type lines struct {
	mu  sync.Mutex
	all []line
}

type line struct {
	at   time.Time
	text string
}

func (l *lines) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == maxLines {
		l.all = slices.Delete(l.all, 0, maxLines/2)
	}
	l.all = append(l.all, line{at: time.Now(), text: strings.TrimSuffix(text, "\n")})
}

// Write lets a standard logger write here.
func (l *lines) Write(text []byte) (int, error) {
	l.printf("%s", text)
	return len(text), nil
}

// since gives the lines of the time that has passed last, all if it is zero.
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
