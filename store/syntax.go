package store

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unfitText finds what keeps a text from being parsed at all.
func unfitText(text []byte) (p Problem, unfit bool) {
	if n := estimateNodes(text); n > maxNodes {
		return Problem{
			Code: "DocumentTooLarge", Line: 1, Column: 1,
			Message: "the document holds about " + strconv.Itoa(n) + " values and keys; at most " + strconv.Itoa(maxNodes) + " are read",
			Hint:    "split it into several documents or files",
		}, true
	}
	if utf8.Valid(text) {
		return Problem{}, false
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	where := placeAt(text, at)
	return Problem{
		Code: "InvalidUTF8", Line: where.line, Column: where.column,
		Message: "byte " + strconv.Itoa(at) + " of the document (0x" + strconv.FormatInt(int64(text[at]), 16) + ") is not UTF-8",
		Hint:    "save the file as UTF-8",
	}, true
}

// placeAt gives the place of a byte of the text.
func placeAt(text []byte, at int) place {
	before := text[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return place{bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1, 1}
}

// explainSyntax says what the parser's error means.
func explainSyntax(text []byte, err error) Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, words, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, words
		}
	}
	return Problem{Code: "InvalidYAML", Line: line, Column: 1, Message: message}
}
