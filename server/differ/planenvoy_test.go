package differ

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/plan"
)

// TestPlannedRequestsChangeOnEnvoy edits folders at random, serves the folders before and after to a
// real Envoy, one after the other, and sends the examples of the plan: each gets another answer.
func TestPlannedRequestsChangeOnEnvoy(t *testing.T) {
	t.Parallel()
	envoytest.Binary(t)
	worlds, seed := testsize.Of(t, 8), testsize.Seed(t)
	backends := &recorder{seen: map[string][]*received{}}
	with := startShared(t, backends)
	edits, sent, wrong := 0, 0, 0
	for first := 0; first < worlds; first += batchOfPlans {
		all := editedBatch(t, seed, first, min(first+batchOfPlans, worlds), with)
		for _, e := range all {
			edits += len(e.edits)
		}
		for _, p := range sendPlanned(t, all, backends) {
			sent++
			if p.answers[0] == p.answers[1] {
				if wrong++; wrong < 8 {
					t.Errorf("%s (%s): %s\n  plan: %s, then %s\n  Envoy twice: %s", p.world.namespace, p.edits, p.question, p.change.Before.Words(), p.change.After.Words(), p.answers[0])
				}
			}
		}
		if worlds > batchOfPlans {
			t.Logf("%d of %d folders: %d edits, %d examples, %d of them wrong", min(first+batchOfPlans, worlds), worlds, edits, sent, wrong)
		}
	}
	t.Logf("%d edits, %d examples were sent, and %d got the same answer twice", edits, sent, wrong)
	if wrong > 0 {
		t.Errorf("%d of %d examples get the same answer twice", wrong, sent)
	}
	if sent < worlds {
		t.Errorf("%d examples of %d folders prove little", sent, worlds)
	}
}

// sendPlanned serves the folders before and after to an Envoy, one after the other, and returns what it
// answers to the examples of their plans.
func sendPlanned(t *testing.T, all []*edited, backends *recorder) (asked []*planned) {
	t.Helper()
	var worlds [2][]*world
	for _, e := range all {
		worlds[0], worlds[1] = append(worlds[0], e.before), append(worlds[1], e.after)
		for n, change := range e.report.Requests {
			if p := plannedOf(change, e, fmt.Sprintf("%s-%d", e.before.namespace, n)); p != nil {
				asked = append(asked, p)
			}
		}
	}
	for side := range worlds {
		t.Run([]string{"before", "after"}[side], func(t *testing.T) {
			startFleet(t, worlds[side], backends, nil, translate.Options{})
			client := envoytest.NewClient()
			defer client.Close()
			for _, p := range asked {
				p.answers[side] = p.ask(client, backends, side)
			}
		})
	}
	return asked
}

// planned is an example of a plan, with what Envoy answers before and after.
type planned struct {
	world    *world
	edits    string
	change   plan.Change
	question *question
	answers  [2]string
}

// plannedOf returns the example of a change as a question to Envoy; nil for one that no single
// request can show: shares of the same backends, what an address of elsewhere gets, or what depends on
// more than the request.
func plannedOf(change plan.Change, e *edited, id string) *planned {
	query := change.Example.Query()
	if query.From.IsValid() && query.From != netip.MustParseAddr("127.0.0.1") || sameBackends(change) {
		return nil
	}
	for _, w := range []*world{e.before, e.after} {
		if answer := explain.Request(w.view, query); len(answer.Outcome.Unless) > 0 || len(answer.Unsure) > 0 {
			return nil
		}
	}
	q := &question{id: id, gateway: query.Gateway, scheme: query.Scheme, name: query.SNI, port: query.Port, method: query.Method, target: query.Path, host: query.Host}
	if q.name == "" {
		q.name, _, _ = strings.Cut(q.host, ":")
	}
	for name, values := range query.Headers {
		for _, value := range values {
			q.add(name, value)
		}
	}
	if query.Headers.Get("Content-Length") != "" {
		return nil // its body would have to be sent, too
	}
	return &planned{world: e.before, edits: strings.Join(e.edits, ", "), change: change, question: q}
}

// sameBackends reports whether both answers have a backend, or a status, in common: then a single request may reach
// it both times.
func sameBackends(change plan.Change) bool {
	has := func(a plan.Answer, status uint32) bool {
		return status != 0 && slices.ContainsFunc(a.Backends, func(b plan.Share) bool { return b.Status == status })
	}
	if has(change.After, change.Before.Status) || has(change.Before, change.After.Status) {
		return true
	}
	if len(change.Before.Backends) < 2 && len(change.After.Backends) < 2 {
		return false
	}
	return slices.ContainsFunc(change.Before.Backends, func(b plan.Share) bool {
		return slices.ContainsFunc(change.After.Backends, func(a plan.Share) bool { return a.Status == b.Status && (a.Cluster == b.Cluster || a.Status != 0) })
	})
}

// ask returns what Envoy answers, and what the backend receives, as text.
func (p *planned) ask(client *envoytest.Client, backends *recorder, side int) string {
	q := *p.question
	q.lines = slices.Clone(q.lines)
	q.id = fmt.Sprintf("plan-%d-%s", side, q.id)
	q.add(idHeader, q.id)
	response, err := client.Do(q.request(p.world.address))
	if err != nil {
		return "no answer"
	}
	x := &exchange{response: response, received: backends.take(q.id)}
	location, _, _ := strings.Cut(response.Headers.Get("Location"), "&")
	text := x.envoy() + " " + location
	if own := x.own(); own != nil {
		text += fmt.Sprintf(" %s %s %s", own.Method, own.Host, own.Target)
		headers := http.Header{}
		for _, h := range own.Headers {
			if !strings.EqualFold(h.Name, idHeader) && !strings.EqualFold(h.Name, "x-request-id") {
				headers.Add(h.Name, h.Value)
			}
		}
		text += fmt.Sprint(headers)
	}
	return text
}
