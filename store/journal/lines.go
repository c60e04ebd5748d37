package journal

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"runtime"
)

// readLine is a line that was read from a journal.
type readLine struct {
	line   line
	length int64 // in bytes, with its line break
	sound  bool  // false if the line is damaged or too long
}

// linesOf returns an iterator over the lines of a journal, in their order. It leaves out a last line without a
// line break, because the write of that line was interrupted. The lines are decoded on all cores, each of which
// gets a piece of the journal. If the decoding panics, the iterator panics with the same value.
func linesOf(in io.Reader) iter.Seq[readLine] {
	return func(yield func(readLine) bool) {
		buffered := bufio.NewReaderSize(in, 1<<16)
		var pieces []chan piece // the pieces that are being decoded
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

// pieceBytes is the minimum size of a piece in bytes, except for the last piece. One goroutine decodes a piece.
const pieceBytes = 1 << 18

// piece has the decoded lines of a part of a journal, or the value of the panic that ended the decoding.
type piece struct {
	lines    []readLine
	panicked any
}

// decodeAll decodes the lines in texts. After a panic, the piece has the value of the panic.
func decodeAll(texts []rawLine) (decoded piece) {
	defer func() { decoded.panicked = recover() }()
	decoded.lines = make([]readLine, len(texts))
	for i, raw := range texts {
		decoded.lines[i].length = raw.length
		decoded.lines[i].sound = raw.length <= maxLine && decoded.lines[i].line.decode(raw.text)
	}
	return decoded
}

// rawLine is the text of a line without its line break. If the line is longer than maxLine, text is its
// beginning.
type rawLine struct {
	text   []byte
	length int64
}

// readPiece returns the lines of the next piece. The result more is false at the end of the journal, or after
// an error.
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

// readRaw returns the next line. ok is false at the end of the journal, or after an error.
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
