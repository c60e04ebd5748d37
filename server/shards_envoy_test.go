package server

import (
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/translate/cases"
)

// TestAListenerWithShardsAnswersFromTheFirst asks the port of a listener that is added to
// an Envoy with others, from before it is there: the first answer is that of its routes.
func TestAListenerWithShardsAnswersFromTheFirst(t *testing.T) {
	all, err := cases.Load("../translate/testdata")
	if err != nil {
		t.Fatal(err)
	}
	c := all[slices.IndexFunc(all, func(c *cases.Case) bool { return c.Name == "route-shards" })]
	run := startCase(t, c)
	for _, step := range c.Steps[:3] {
		run.apply(step)
	}
	type answer struct {
		status int
		err    error
	}
	first, stop := make(chan answer, 1), make(chan struct{})
	defer close(stop)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(run.address, "8083")+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "b.test"
	go func() {
		for {
			response, err := http.DefaultTransport.RoundTrip(request)
			if err == nil {
				first <- answer{response.StatusCode, response.Body.Close()}
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	run.apply(c.Steps[3])
	if got := <-first; got.status != http.StatusOK || got.err != nil {
		t.Errorf("the first answer of the new listener is %+v", got)
	}
}
