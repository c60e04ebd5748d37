package page

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
)

// piece describes the part of a long list that one page shows. Before and Behind are the URLs of the previous
// and the next part, or "" if there is none.
type piece struct {
	First, Last, All int // First and Last count from 1; they are 0 if nothing is shown
	Before, Behind   string
}

// readFrom returns the query parameter "from": the index of the first item to show. It returns 0 if the
// parameter is missing, and an error if it is negative or not a number.
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
	size  int // the highest number of items in a piece
}

// piece describes a part of a list. The parameter from is the index of the first item of the part, the parameter
// end is the index after its last item, and the parameter all is the length of the list.
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

// link returns the URL of the piece that begins at an index.
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

// sliced returns the items that the query asks for, beginning with the index in the query parameter "from", and
// a description of this part of the list (piece). An index after the end of the list gives no items. It returns
// an error if the parameter is invalid.
func sliced[T any](items []T, l longList) ([]T, piece, error) {
	from, err := readFrom(l.query)
	if err != nil {
		return nil, piece{}, err
	}
	begin := min(from, len(items))
	end := min(begin+l.size, len(items))
	return items[begin:end], l.piece(begin, end, len(items)), nil
}
