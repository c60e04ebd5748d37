package delta

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate/xds"
)

// requirements returns a filter with requirements such as "a/x@1", each in a version.
func requirements(list ...string) *xds.Resource {
	var all []xds.Requirement
	for _, one := range list {
		name, version, _ := strings.Cut(one, "@")
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		entry = protowire.AppendString(protowire.AppendTag(entry, 2, protowire.BytesType), version)
		all = append(all, xds.Requirement{Part: xds.Part{Requirement: name}, Body: protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), entry)})
	}
	r := xds.RequirementFilter(all)
	return &r
}

// namesOf returns the requirements of a filter.
func namesOf(filter *xds.Resource) string {
	var names []string
	for _, r := range xds.Requirements(filter.Body) {
		names = append(names, r.Requirement)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// newFiltered is a plan that asked for the filter, too.
func newFiltered(t *testing.T) *planned {
	p := newPlanned(t)
	p.ask(xds.FilterType)
	return p
}

// require puts a filter into the target.
func (p *planned) require(list ...string) {
	r := requirements(list...)
	p.put(Update{"shop/a", r.Type, r.Name, NewEntry(r)})
}

// protect puts a table, such as "r@1", that names a requirement into the target.
func (p *planned) protect(table string) {
	name, version, _ := strings.Cut(table, "@")
	r := &xds.Resource{Type: rds, Name: name, Version: version, Body: naming(version)}
	p.put(Update{"shop/a", rds, name, NewEntry(r)})
}

// naming returns the content of a table that names a requirement.
func naming(version string) []byte {
	body, err := proto.Marshal(&routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{{
		Name: version, TypedPerFilterConfig: map[string]*anypb.Any{xds.JWTFilter: {TypeUrl: "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.PerRouteConfig"}},
	}}})
	if err != nil {
		panic(err)
	}
	return body
}

// sendsFilter checks that the filter is sent now, with these requirements.
func (p *planned) sendsFilter(want string) *Response {
	p.t.Helper()
	r := p.sends(xds.JWTFilter)
	if got := namesOf(r.Set[0].Resource); got != want {
		p.t.Fatalf("the filter has %q, want %q", got, want)
	}
	return r
}

func (p *planned) ack(r *Response)                { p.book(p.ledgers[r.Type], r.nonce, "", false) }
func (p *planned) nack(r *Response, words string) { p.book(p.ledgers[r.Type], r.nonce, words, true) }

// A route waits for the filter that has its requirement. A requirement that routes named before
// stays until the Envoy took the routes that do not.
func TestRoutesWaitForTheirRequirements(t *testing.T) {
	p := newFiltered(t)
	p.protect("r@1")
	p.require("a/x@1")
	first := p.sendsFilter("a/x")
	p.sends("")
	p.ack(first)
	p.ack(p.sends("r"))

	p.require("a/y@1")
	p.protect("r@2")
	both := p.sendsFilter("a/x a/y")
	p.sends("")
	p.ack(both)
	table := p.sends("r")
	p.sends("") // the Envoy may still serve the older table
	p.ack(table)
	p.ack(p.sendsFilter("a/y"))
	p.sends("")
	if !p.State().Idle || p.State().Rejections != 0 {
		t.Errorf("%+v", p.State())
	}
}

// A table that the Envoy rejects is served in its older form, which names the requirement that
// the target lost.
func TestARejectedTableKeepsItsRequirement(t *testing.T) {
	p := newFiltered(t)
	p.searches = false
	p.require("a/x@1")
	p.protect("r@1")
	p.ack(p.sendsFilter("a/x"))
	p.ack(p.sends("r"))
	p.require()
	p.protect("r@2")
	p.nack(p.sends("r"), "no")
	p.sends("")
	p.protect("r@3")
	p.ack(p.sends("r"))
	p.ack(p.sendsFilter(""))
}

// An Envoy that has not asked for its filter yet has not read its listeners, or rejected them: a
// route would be open there. Tables that need no filter are sent.
func TestRoutesWaitUntilTheFilterIsAskedFor(t *testing.T) {
	p := newPlanned(t)
	p.edit("RouteConfiguration r@1")
	p.require()
	p.ack(p.sends("r")) // it needs none
	p.require("a/x@1")
	p.protect("r@2")
	p.sends("")
	p.edit("RouteConfiguration other@1")
	p.ack(p.sends("other"))
	p.edit("RouteConfiguration r@3")
	p.ack(p.sends("r")) // it needs none again
	p.protect("r@4")
	p.sends("")
	if p.State().Idle || p.Progress()[rds].Pending != 1 {
		t.Errorf("%+v, %+v", p.State(), p.Progress()[rds])
	}
	p.ask(xds.FilterType)
	p.ack(p.sendsFilter("a/x"))
	p.ack(p.sends("r"))
}

// While the filter is on its way, tables that name no requirement are sent; and a table is forgotten
// with its Envoy's interest in it.
func TestTablesWithoutRequirementsDoNotWait(t *testing.T) {
	p := newFiltered(t)
	p.require("a/x@1")
	p.protect("r@1")
	p.edit("RouteConfiguration other@1")
	filter := p.sendsFilter("a/x")
	p.ack(p.sends("other"))
	p.sends("")
	p.ledgers[rds].forget("r")
	if !p.ledgers[rds].idle() {
		t.Error("a table that nobody asks for is awaited")
	}
	p.protect("r@2")
	p.sends("")
	p.ack(filter)
	p.ack(p.sends("r"))
	p.sends("")
	if !p.State().Idle {
		t.Errorf("%+v", p.State())
	}
}

// A requirement that the Envoy rejects is left out, by what Envoy says of its provider, and the
// others are served. It is sent again when it changes.
func TestARejectedRequirementIsLeftOut(t *testing.T) {
	p := newFiltered(t)
	p.require("a/x@1")
	p.ack(p.sendsFilter("a/x"))
	p.require("a/x@2", "a/y@1")
	p.nack(p.sendsFilter("a/x a/y"), "Issuer 'i' in provider 'a/x/corp' has invalid local jwks: no keys")
	p.ack(p.sendsFilter("a/y"))
	rejected, _ := p.TakeRejected()
	if len(rejected) != 1 || rejected[0].Requirement != "a/x" || p.State().Rejections != 1 {
		t.Errorf("rejected are %v, %+v", rejected, p.State())
	}
	p.protect("r@1")
	p.ack(p.sends("r"))
	p.require("a/x@3", "a/y@1")
	p.ack(p.sendsFilter("a/x a/y"))
	if _, cleared := p.TakeRejected(); len(cleared) != 1 || p.State().Rejections != 0 {
		t.Errorf("cleared are %v, %+v", cleared, p.State())
	}
}

// Of words that name no provider, what is new in the filter is at fault.
func TestWhatIsNewInARejectedFilterIsLeftOut(t *testing.T) {
	p := newFiltered(t)
	p.require("a/x@1")
	p.ack(p.sendsFilter("a/x"))
	p.require("a/x@1", "a/y@1")
	p.nack(p.sendsFilter("a/x a/y"), "out of memory")
	p.sends("") // what is left is what the Envoy has
	if rejected, _ := p.TakeRejected(); len(rejected) != 1 || rejected[0].Requirement != "a/y" {
		t.Errorf("rejected are %v", rejected)
	}
}

// An Envoy of several Gateways has the requirements of all of them.
func TestGatewaysShareAFilter(t *testing.T) {
	p := newFiltered(t)
	p.require("a/x@1")
	other := requirements("b/y@1")
	p.put(Update{"shop/b", other.Type, other.Name, NewEntry(other)})
	p.ack(p.sendsFilter("a/x b/y"))
	p.put(Update{"shop/b", other.Type, other.Name, nil})
	p.ack(p.sendsFilter("a/x"))
}

// Whatever changes, and in whatever order the Envoy answers: a table that is sent names only
// what the filter has that the Envoy accepted last, and so does each table that it serves.
func TestNoRouteGoesBeforeItsRequirement(t *testing.T) {
	for run := range testsize.Of(t, 200) {
		random := rand.New(rand.NewPCG(testsize.Seed(t), uint64(run)))
		p := newFiltered(t)
		var filter, served string // accepted by the Envoy: the filter's requirements, what its table names
		var flight []*Response
		for step := range 60 {
			switch random.IntN(3) {
			case 0:
				name := fmt.Sprintf("a/%c", 'u'+random.IntN(5))
				p.require(name + "@1")
				p.put(Update{"shop/a", rds, "r", NewEntry(tableNaming(name, step))})
			case 1:
				if r, _ := p.Next(p.now); r != nil {
					flight = append(flight, r)
					if r.Type == rds && !strings.Contains(filter, nameIn(r.Set[0].Resource)) {
						t.Fatalf("a table that names %s goes to an Envoy with %q", nameIn(r.Set[0].Resource), filter)
					}
				}
			default:
				flight = answerOne(p, random, flight, &filter, &served)
			}
			if !strings.Contains(filter, served) {
				t.Fatalf("the Envoy serves a table that names %s with %q", served, filter)
			}
		}
	}
}

// tableNaming returns a table that names a requirement.
func tableNaming(name string, step int) *xds.Resource {
	return &xds.Resource{Type: rds, Name: "r", Version: fmt.Sprintf("%s@%d", name, step), Body: naming(name)}
}

func nameIn(table *xds.Resource) string {
	name, _, _ := strings.Cut(table.Version, "@")
	return name
}

// answerOne has the Envoy accept one of the responses that it has not answered.
func answerOne(p *planned, random *rand.Rand, flight []*Response, filter, served *string) []*Response {
	if len(flight) == 0 {
		return nil
	}
	i := random.IntN(len(flight))
	r := flight[i]
	if r.Type == rds {
		*served = nameIn(r.Set[0].Resource)
	} else {
		*filter = namesOf(r.Set[0].Resource)
	}
	p.ack(r)
	return slices.Delete(flight, i, i+1)
}

// Envoys that accepted the same filter are sent one form of the next: it is encoded once.
func TestStreamsShareAFilter(t *testing.T) {
	before, now := NewEntry(requirements("a/x@1")), NewEntry(requirements("a/y@1"))
	first := now.filterWith(before, nil)
	if !first.grown || first == now || now.filterWith(before, nil) != first {
		t.Error("the form is made anew for each stream")
	}
	if now.filterWith(NewEntry(requirements("a/z@1")), nil) == first || now.filterWith(nil, nil) != now {
		t.Error("streams that accepted something else have the same form")
	}
}
