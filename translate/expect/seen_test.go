package expect

import (
	"net/http"
	"reflect"
	"slices"
	"testing"
)

// TestAnswersInAnyOrder: what is reported of several answers does not depend on which came first.
func TestAnswersInAnyOrder(t *testing.T) {
	lines, problems := Parse("requests", []byte("GET http://shop.example.com/ -> a=1 b=1 c=1\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	of := func(name string) Seen {
		return Seen{Status: http.StatusOK, Echo: &Echo{Backend: name}}
	}
	seen := []Seen{of("b"), of("y"), {Status: http.StatusNotFound}, of("a"), of("x"), of("b"), {Late: true}}
	want := NewObserver(nil).Compare(lines[0], seen)
	if want.Got != "404, a, b, no answer in time, x, y" || len(want.Differences) != 4 {
		t.Errorf("got %q with %v", want.Got, want.Differences)
	}
	slices.Reverse(seen)
	if got := NewObserver(nil).Compare(lines[0], seen); !reflect.DeepEqual(got, want) {
		t.Errorf("in another order: %+v\nnot %+v", got, want)
	}
}

// TestCredentialsOfLines: credentials of whatever length are not in the text of a line, and no other
// value is taken out of it.
func TestCredentialsOfLines(t *testing.T) {
	for line, want := range map[string]string{
		"GET http://a.test/?key=1&page=1 x-env:1 -> 301 http://a.test/1?key=1":     "GET http://a.test/?key=[redacted]&page=1 x-env:1 -> 301 http://a.test/1?key=[redacted]",
		"GET http://a.test/?a%70i_key=longer1 FROM:192.0.2.7 -> b | path /longer1": "GET http://a.test/?a%70i_key=[redacted] FROM:192.0.2.7 -> b | path /[redacted]",
		`GET http://a.test/ Authorization:"Bearer ab" x-author:ada -> b`:           `GET http://a.test/ Authorization:[redacted] x-author:ada -> b`,
		"GET http://a.test/ -> b | request x-token: - | request x-session: ab":     "GET http://a.test/ -> b | request x-token: - | request x-session: [redacted]",
	} {
		requests, problems := Parse("requests", []byte(line))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := newRedaction(nil).line(requests[0]); got != want {
			t.Errorf("%s\nis shown as %s", line, got)
		}
	}
}
