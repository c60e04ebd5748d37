package page

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
)

// piece is a part of a long list, with links to the parts before and after it.
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

// longList is a list that is shown in pieces.
type longList struct {
	path  string
	query url.Values
	size  int // of a piece, at most
}

// piece returns the piece that has the items from one index to before another, of all that there are.
func (l longList) piece(from, end, all int) piece {
	p := piece{All: all}
	if from < end {
		p.First, p.Last = from+1, end
	}
	if from > 0 {
		p.Before = l.link(max(0, min(from, all)-l.size))
	}
	if end < all {
		p.Behind = l.link(end)
	}
	return p
}

// link leads to the piece that begins at an index.
func (l longList) link(from int) string {
	query := maps.Clone(l.query)
	if query.Set("from", strconv.Itoa(from)); from == 0 {
		query.Del("from")
	}
	if len(query) == 0 {
		return l.path
	}
	return l.path + "?" + query.Encode()
}

// sliced returns the part of a list that its query asks for.
func sliced[T any](items []T, l longList) ([]T, piece, error) {
	from, err := readFrom(l.query)
	if err != nil {
		return nil, piece{}, err
	}
	begin := min(from, len(items))
	end := min(begin+l.size, len(items))
	return items[begin:end], l.piece(begin, end, len(items)), nil
}
