package page

import (
	"fmt"
	"net/url"
	"strconv"
)

// piece is a part of a long list, with links to those before and behind it.
type piece struct {
	First, Last, All int // from 1; 0, 0 of an empty list
	Before, Behind   string
}

// readFrom reads ?from=, the index of the first item that is shown.
func readFrom(query url.Values) (int, error) {
	text := query.Get("from")
	if text == "" {
		return 0, nil
	}
	from, err := strconv.Atoi(text)
	if err != nil || from < 0 {
		return 0, fmt.Errorf("from %q: want a number", cutTo(text, 40))
	}
	return from, nil
}

// newPiece returns the piece of a list of all items that begins at from and has the items before end. size is
// how many a piece has at most.
func newPiece(path string, query url.Values, from, end, all, size int) piece {
	p := piece{All: all}
	if from < end {
		p.First, p.Last = from+1, end
	}
	if from > 0 {
		p.Before = withFrom(path, query, max(0, min(from, all)-size))
	}
	if end < all {
		p.Behind = withFrom(path, query, end)
	}
	return p
}

func withFrom(path string, query url.Values, from int) string {
	next := url.Values{}
	for name, values := range query {
		next[name] = values
	}
	if next.Set("from", strconv.Itoa(from)); from == 0 {
		next.Del("from")
	}
	if len(next) == 0 {
		return path
	}
	return path + "?" + next.Encode()
}

// sliced returns the part of a list that a piece shows.
func sliced[T any](list []T, path string, query url.Values, size int) ([]T, piece, error) {
	from, err := readFrom(query)
	if err != nil {
		return nil, piece{}, err
	}
	begin := min(from, len(list))
	end := min(begin+size, len(list))
	return list[begin:end], newPiece(path, query, begin, end, len(list), size), nil
}
