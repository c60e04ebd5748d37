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
// written, is none. They are decoded on all cores, a piece of the journal on each. A panic of
// the decoding becomes one of the reader.
func linesOf(in io.Reader) iter.Seq[readLine] {
	return func(yield func(readLine) bool) {
		buffered := bufio.NewReaderSize(in, 1<<16)
		var pieces []chan piece // that are being decoded
		for more := true; more || len(pieces) > 0; pieces = pieces[1:] {
			for more && len(pieces) < runtime.GOMAXPROCS(0) {
				var texts []rawLine
				texts, more = readPiece(buffered)
				decoded := make(chan piece, 1)
				go func() { decoded <- decodeAll(texts) }()
				pieces = append(pieces, decoded)
			}
			first := <-pieces[0]
			if first.panicked != nil {
				panic(first.panicked)
			}
			for _, l := range first.lines {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// pieceBytes is how much of a journal is decoded by one goroutine, at least.
const pieceBytes = 1 << 18

// piece is a part of a journal, decoded; or the panic that ended the decoding.
type piece struct {
	lines    []readLine
	panicked any
}

func decodeAll(texts []rawLine) (decoded piece) {
	defer func() { decoded.panicked = recover() }()
	decoded.lines = make([]readLine, len(texts))
	for i, raw := range texts {
		decoded.lines[i].length = raw.length
		decoded.lines[i].sound = raw.length <= maxLine && decoded.lines[i].line.decode(raw.text)
	}
	return decoded
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
