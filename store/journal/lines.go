package journal

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"runtime"
)

// readLine is a line as it was read.
type readLine struct {
	line   line
	length int64 // with its break
	sound  bool  // else it is damaged, or too long
}

// linesOf reads all lines, in their order; one without its end, which was being
// written, is none. They are decoded on all cores, a piece of the journal on each.
func linesOf(in io.Reader) iter.Seq[readLine] {
	return func(yield func(readLine) bool) {
		quit, pieces := make(chan struct{}), make(chan chan []readLine, runtime.GOMAXPROCS(0))
		defer func() {
			close(quit)
			for range pieces { // until nothing reads any more
			}
		}()
		go cut(bufio.NewReaderSize(in, 1<<16), pieces, quit)
		for piece := range pieces {
			for _, l := range <-piece {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// pieceBytes is how much of a journal is decoded by one goroutine, at least.
const pieceBytes = 1 << 18

// cut cuts what is read into pieces and has them decoded. Whoever takes them bounds
// by the length of the channel how many there are at once.
func cut(in *bufio.Reader, pieces chan<- chan []readLine, quit <-chan struct{}) {
	defer close(pieces)
	for more := true; more; {
		var texts []rawLine
		texts, more = readPiece(in)
		piece := make(chan []readLine, 1)
		go func() { piece <- decodeAll(texts) }()
		select {
		case pieces <- piece:
		case <-quit:
			return
		}
	}
}

func decodeAll(texts []rawLine) []readLine {
	lines := make([]readLine, len(texts))
	for i, raw := range texts {
		lines[i].length = raw.length
		lines[i].sound = raw.length <= maxLine && lines[i].line.decode(raw.text)
	}
	return lines
}

// rawLine is the text of a line, without its break; a part of it where it is too long.
type rawLine struct {
	text   []byte
	length int64
}

// readPiece reads lines until they are a piece, or no more can be read.
func readPiece(in *bufio.Reader) (texts []rawLine, more bool) {
	for size := int64(0); size < pieceBytes; {
		raw, ok := readRaw(in)
		if !ok {
			return texts, false
		}
		texts = append(texts, raw)
		size += raw.length
	}
	return texts, true
}

// readRaw reads one line; false at the end, and where it cannot be read any further.
func readRaw(in *bufio.Reader) (raw rawLine, ok bool) {
	for {
		piece, err := in.ReadSlice('\n')
		raw.length += int64(len(piece))
		if raw.length <= maxLine {
			raw.text = append(raw.text, piece...)
		}
		switch {
		case err == nil:
			raw.text = raw.text[:max(len(raw.text)-1, 0)]
			return raw, true
		case !errors.Is(err, bufio.ErrBufferFull):
			return rawLine{}, false
		}
	}
}
