package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// stagedFleet is a server without connections, whose clients and clock are the test's.
type stagedFleet struct {
	*Server
	t        testing.TB
	now      time.Time
	puppets  []*puppet
	problems []manifest.Problem
	saved    []Fleet
	rejects  string // what canaries that join from now on reject
}

// puppet is a client that acknowledges what it is sent, but for what it rejects.
type puppet struct {
	of      *stagedFleet
	stream  *stream
	has     map[string]string // what it holds: "Cluster web" → "1"
	ever    map[string]bool   // what it ever accepted: "Cluster web@1"
	rejects string            // contents that it rejects
	silent  bool              // it reads, and does not answer
	answers []*delta.Request
}

func newStagedFleet(t testing.TB, staging Staging) *stagedFleet {
	t.Helper()
	f := &stagedFleet{t: t, now: time.Now()}
	staging.Problems = func(problems []manifest.Problem) { f.problems = problems }
	staging.Save = func(fleets []Fleet) { f.saved = fleets }
	f.Server = New(Options{BarrierWait: time.Hour, Staging: staging}, zerolog.Nop())
	return f
}

// join connects a client that asks for all clusters and listeners, and for these tables; a canary where its name
// begins so.
func (f *stagedFleet) join(node, cluster string, tables ...string) *puppet {
	f.t.Helper()
	p := &puppet{of: f, has: map[string]string{}, ever: map[string]bool{}}
	who := &corev3.Node{Id: node, Cluster: cluster}
	if strings.HasPrefix(node, envoy.Canary) {
		p.rejects = f.rejects
		who.Metadata = canaryMetadata()
	}
	line := f.liftIn(f.t, who, false)
	p.stream, p.answers = line.stream, line.answer
	p.answers = append(p.answers, &delta.Request{TypeUrl: lds}, &delta.Request{TypeUrl: rds, ResourceNamesSubscribe: tables})
	f.puppets = append(f.puppets, p)
	f.settle()
	return p
}

func canaryMetadata() *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{envoy.StageKey: structpb.NewStringValue(envoy.Canary)}}
}

// leave disconnects a client.
func (p *puppet) leave() {
	p.of.at(p.stream).leave()
	p.of.puppets = slices.DeleteFunc(p.of.puppets, func(o *puppet) bool { return o == p })
	p.of.settle()
}

// edit publishes changes as a revision, and lets all answer.
func (f *stagedFleet) edit(changes ...string) {
	f.t.Helper()
	f.Publish(translate.Result{Delta: deltatest.Updates(changes...)})
	f.Edited(admin.Edit{Result: "ok"}, true)
	f.settle()
}

// settle lets all clients answer, and fleets be judged, until nothing happens any more.
func (f *stagedFleet) settle() {
	f.t.Helper()
	for range 6 {
		for _, p := range f.puppets {
			p.turn()
		}
		f.staging.review(f.now)
		f.staging.report()
	}
}

// pass lets time pass.
func (f *stagedFleet) pass(time time.Duration) {
	f.now = f.now.Add(time)
	f.settle()
}

func (p *puppet) turn() {
	for {
		if _, err := p.of.at(p.stream).flush(p); err != nil {
			p.of.t.Fatal(err)
		}
		if len(p.answers) == 0 {
			return
		}
		answers := p.answers
		p.answers = nil
		for _, request := range answers {
			if err := p.of.at(p.stream).handle(request); err != nil {
				p.of.t.Fatal(err)
			}
		}
	}
}

// SendMsg takes a response.
func (p *puppet) SendMsg(message any) error {
	if p.silent {
		return nil
	}
	response := &discoveryv3.DeltaDiscoveryResponse{}
	if err := proto.Unmarshal(message.(connect.Frame).Materialize(), response); err != nil {
		return err
	}
	answer := &delta.Request{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce}
	for _, r := range response.Resources {
		if content, _, _ := strings.Cut(r.Version, "-"); p.rejects != "" && strings.Contains(content, p.rejects) {
			answer.ErrorDetail = status.New(codes.Internal, "no "+content).Proto()
		}
	}
	p.answers = append(p.answers, answer)
	if answer.ErrorDetail != nil {
		return nil
	}
	typ := xds.ShortType(response.TypeUrl) + " "
	for _, r := range response.Resources {
		content, _, _ := strings.Cut(r.Version, "-")
		p.has[typ+r.Name] = content
		p.ever[typ+r.Name+"@"+content] = true
	}
	for _, name := range response.RemovedResources {
		delete(p.has, typ+name)
	}
	return nil
}

// holds wants a client to hold exactly this: "Cluster web@1".
func (p *puppet) holds(want ...string) {
	p.of.t.Helper()
	var got []string
	for name, content := range p.has {
		got = append(got, name+"@"+content)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.of.t.Fatalf("%s holds %q, want %q", p.stream.node, got, want)
	}
}

// is wants the fleet of shop/a to be in a state, and what its Envoys hold.
func (f *stagedFleet) is(state stageState, revision, newest uint64) {
	f.t.Helper()
	fleets := envoyPages{f.core, f.transport}.Fleets()
	at := slices.IndexFunc(fleets, func(fleet admin.Fleet) bool { return fleet.Gateway == "shop/a" })
	if at < 0 {
		f.t.Fatalf("no fleet of shop/a: %+v", fleets)
	}
	if got := fleets[at]; got.State != string(state) || got.Revision != revision || got.Newest != newest {
		f.t.Fatalf("got %+v, want %s, %d of %d", got, state, revision, newest)
	}
}

// says wants one problem with these words, or none.
func (f *stagedFleet) says(object string, words ...string) {
	f.t.Helper()
	if object == "" {
		if len(f.problems) > 0 {
			f.t.Fatalf("problems: %v", f.problems)
		}
		return
	}
	if len(f.problems) != 1 || f.problems[0].Code != frozenCode || f.problems[0].Object.String() != object {
		f.t.Fatalf("problems: %v, want one of %s", f.problems, object)
	}
	for _, word := range words {
		if !strings.Contains(f.problems[0].Message, word) {
			f.t.Fatalf("the problem %q does not say %q", f.problems[0].Message, word)
		}
	}
}

// settledFleet is one of a canary and another Envoy, which hold revision 1.
func settledFleet(t testing.TB, staging Staging) (f *stagedFleet, canary, other *puppet) {
	t.Helper()
	f = newStagedFleet(t, staging)
	f.edit("Cluster Service/shop/web/80@1", "Listener http@1", "RouteConfiguration r@1")
	canary, other = f.join("canary-1", "shop/a", "r"), f.join("edge-1", "shop/a", "r")
	f.is(delivered, 1, 1)
	return f, canary, other
}

const web = "Cluster Service/shop/web/80"

func TestARevisionGoesToCanariesFirst(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{})
	canary.silent = true
	f.edit(web+"@2", "RouteConfiguration r@2")
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	f.is(judging, 1, 2)
	f.says("")
	canary.leave()
	f.is(frozen, 1, 2)
	f.says("Gateway shop/a", `"canary-1"`, "disconnected", "Revision 2 is frozen", "stay on revision 1")
	f.join("canary-1", "shop/a", "r").holds(web+"@2", "Listener http@1", "RouteConfiguration r@2")
	other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@2")
	f.is(delivered, 2, 2)
	f.says("")
}

func TestARejectedRevisionIsFrozen(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{})
	canary.rejects = "bad"
	f.edit(web+"@bad", "Cluster new@1")
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	canary.holds(web+"@1", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
	f.is(frozen, 1, 2)
	f.says("Service shop/web", `Envoy "canary-1" of stage canary rejected Cluster "Service/shop/web/80": no bad`, "Revision 2 is frozen: the other Envoys of shop/a stay on revision 1")
	if shown := f.verdicts.given["shop/a"]; shown.Status != "False" || !strings.Contains(shown.Message, "no bad") {
		t.Errorf("the Gateway says %+v", shown)
	}
	f.edit("Cluster more@1") // another good edit does not help the bad one
	f.is(frozen, 1, 3)
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	f.edit(web + "@3")
	f.is(delivered, 4, 4)
	f.says("")
	all := []string{web + "@3", "Cluster new@1", "Cluster more@1", "Listener http@1", "RouteConfiguration r@1"}
	other.holds(all...)
	canary.holds(all...)
	if shown := f.verdicts.given["shop/a"]; shown.Status != "True" {
		t.Errorf("the Gateway says %+v", shown)
	}
}

func TestARevertNeedsNoAnswer(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{})
	canary.rejects = "bad"
	f.edit(web+"@bad", "Cluster new@1")
	f.edit(web+"@1", "-Cluster new")
	f.is(delivered, 3, 3)
	f.says("")
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	if other.ever["Cluster new@1"] {
		t.Error("the other Envoy was sent a part of the revision that was taken back")
	}
}

func TestAPersonPromotesWhatCanariesRejected(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{})
	canary.rejects = "bad"
	f.edit(web + "@bad")
	f.staging.promoteAll()
	f.settle()
	f.is(delivered, 2, 2)
	f.says("")
	other.holds(web+"@bad", "Listener http@1", "RouteConfiguration r@1")
	f.edit("Cluster new@1") // what the canary rejects is promoted, and freezes nothing
	f.is(delivered, 3, 3)
	other.holds(web+"@bad", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
}

func TestACanaryThatDoesNotAnswerFreezes(t *testing.T) {
	f, canary, _ := settledFleet(t, Staging{})
	canary.silent = true
	f.edit(web + "@2")
	f.pass(answerTime / 2)
	f.is(judging, 1, 2)
	f.pass(answerTime)
	f.is(frozen, 1, 2)
	f.says("Gateway shop/a", `"canary-1"`, "has not answered for revision 2")
}

func TestARevisionWaitsForACanaryThatIsAway(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{Absence: time.Minute})
	canary.leave()
	f.edit(web + "@2")
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	f.is(judging, 1, 2)
	f.pass(2 * time.Minute)
	other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@1")
	if fleets := (envoyPages{f.core, f.transport}).Fleets(); len(fleets)+len(f.saved) > 0 {
		t.Errorf("fleets %v, saved %v", fleets, f.saved)
	}
	f.edit(web + "@3") // nobody waits any more
	other.holds(web+"@3", "Listener http@1", "RouteConfiguration r@1")
	canary = f.join("canary-2", "shop/a", "r")
	canary.rejects = "bad"
	f.edit(web + "@bad")
	other.holds(web+"@3", "Listener http@1", "RouteConfiguration r@1")
}

// A canary that leaves with a revision on it may have crashed by it: no time makes that one go on.
func TestTheRevisionThatLostACanaryWaitsForIt(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{Absence: time.Minute})
	canary.silent = true
	f.edit(web + "@2")
	canary.leave()
	f.edit("Cluster new@1") // has the other edit with it
	f.pass(time.Hour)
	f.is(frozen, 1, 3)
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	if !slices.Equal(f.saved, []Fleet{{Gateway: "shop/a", Unpromoted: true}}) {
		t.Errorf("saved %v", f.saved)
	}
	f.join("canary-2", "shop/a", "r") // another one accepts what came later
	f.is(delivered, 3, 3)
	other.holds(web+"@2", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
}

// A client may call itself anything: what is remembered of canaries that left is bounded, and the revision stays frozen.
func TestCanariesThatComeAndGo(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{})
	canary.silent = true
	f.edit(web + "@2")
	f.rejects = "2"
	for i := range maxLeft + 10 {
		f.join(fmt.Sprint("canary-of-", i), "shop/a", "r").leave()
	}
	if left := len(f.scopes["shop/a"].stage.left); left != maxLeft {
		t.Errorf("%d that left are remembered, want %d", left, maxLeft)
	}
	f.is(frozen, 1, 2)
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
}

func TestCanariesAreOnARevisionForAWhile(t *testing.T) {
	f, canary, other := settledFleet(t, Staging{Wait: time.Minute})
	f.edit(web + "@2")
	f.is(soaks, 1, 2)
	f.pass(30 * time.Second)
	f.edit(web+"@3", "Cluster new@1") // must not have the first one wait for longer
	canary.holds(web+"@3", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
	other.holds(web+"@1", "Listener http@1", "RouteConfiguration r@1")
	f.pass(40 * time.Second)
	other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@1")
	f.is(soaks, 2, 3)
	f.pass(time.Minute)
	other.holds(web+"@3", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
	f.is(delivered, 3, 3)
	f.edit(web + "@4")
	canary.leave() // meanwhile
	f.pass(time.Hour)
	f.is(frozen, 3, 4)
	other.holds(web+"@3", "Cluster new@1", "Listener http@1", "RouteConfiguration r@1")
}

// After a restart it is not known what the others hold: they keep it until canaries accepted what there is.
func TestARestartTakesNothingAndSendsNothingUnjudged(t *testing.T) {
	for _, unpromoted := range []bool{false, true} {
		t.Run(fmt.Sprint(unpromoted), func(t *testing.T) {
			f := newStagedFleet(t, Staging{Absence: time.Minute, Fleets: []Fleet{{Gateway: "shop/a", Unpromoted: unpromoted}}})
			f.edit(web+"@2", "Listener http@1", "RouteConfiguration r@1")
			other, elsewhere := f.join("edge-1", "shop/a", "r"), f.join("edge-2", "shop/b")
			f.edit("shop/b: Cluster far@1")
			elsewhere.holds("Cluster far@1")
			other.holds()
			f.pass(2 * time.Minute)
			if !unpromoted { // the canary is gone for good
				other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@1")
				return
			}
			other.holds()
			f.is(frozen, 0, 1)
			f.says("Gateway shop/a", "none is connected since", "keep what they have")
			canary := f.join("canary-1", "shop/a")
			other.holds() // the canary has yet to ask for the table
			canary.answers = append(canary.answers, &delta.Request{TypeUrl: rds, ResourceNamesSubscribe: []string{"r"}})
			f.settle()
			other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@1")
			f.is(delivered, 2, 2)
			canary.rejects = "bad"
			f.edit(web + "@bad")
			f.is(frozen, 2, 3)
			other.holds(web+"@2", "Listener http@1", "RouteConfiguration r@1")
		})
	}
}

// Envoys of all Gateways are a fleet of their own; its canary decides nothing for the Envoys of one Gateway.
func TestAFleetOfAllGateways(t *testing.T) {
	f := newStagedFleet(t, Staging{})
	f.edit(web+"@1", "shop/b: Cluster far@1")
	canary, other, single := f.join("canary-1", "all"), f.join("edge-1", "all"), f.join("edge-2", "shop/a")
	canary.rejects = "bad"
	f.edit(web+"@bad", "shop/b: Cluster far@2")
	other.holds(web+"@1", "Cluster far@1")
	single.holds(web + "@bad")
	f.says("Service shop/web", "the other Envoys of all Gateways stay on revision 1")
	f.edit(web + "@3")
	other.holds(web+"@3", "Cluster far@2")
	f.says("")
}

// Whatever is edited, rejected and disconnected: what a canary rejects reaches no other Envoy, the others hold one of
// the revisions, and after a fix all hold what a cold start would send.
func TestRandomStagedEdits(t *testing.T) {
	seed := testsize.Seed(t)
	for range testsize.Of(t, 40) {
		seed++
		random := rand.New(rand.NewPCG(1, seed))
		f, canary, other := settledFleet(t, Staging{Wait: time.Duration(random.IntN(2)) * time.Minute})
		canary.rejects, f.rejects = "bad", "bad"
		now := map[string]string{web: "1", "Listener http": "1", "RouteConfiguration r": "1"}
		snapshots := []map[string]string{maps.Clone(now)}
		for step := range 60 {
			switch random.IntN(8) {
			case 0:
				canary.leave()
				canary = f.join("canary-1", "shop/a", "r")
			case 1:
				f.pass(time.Duration(random.IntN(90)) * time.Second)
			default:
				f.edit(randomEdit(random, now, step)...)
				snapshots = append(snapshots, maps.Clone(now))
			}
			for what := range other.ever {
				if strings.Contains(what, "bad") {
					t.Fatalf("seed %d, step %d: the other Envoy has %s", seed, step, what)
				}
			}
			if !slices.ContainsFunc(snapshots, func(s map[string]string) bool { return maps.Equal(s, other.has) }) {
				t.Fatalf("seed %d, step %d: the other Envoy holds what no revision had: %v", seed, step, other.has)
			}
		}
		var fixes []string
		for name, content := range now {
			if strings.HasPrefix(content, "bad") {
				now[name] = "fixed"
				fixes = append(fixes, name+"@fixed")
			}
		}
		f.edit(fixes...)
		f.pass(time.Minute)
		f.pass(time.Minute)
		f.says("")
		cold := f.join("edge-2", "shop/a", "r")
		for _, p := range []*puppet{canary, other, cold} {
			if !maps.Equal(p.has, now) {
				t.Fatalf("seed %d: %s holds %v, want %v", seed, p.stream.node, p.has, now)
			}
		}
	}
}

// randomEdit changes some of what there is now, and returns the changes.
func randomEdit(random *rand.Rand, now map[string]string, step int) (changes []string) {
	for range 1 + random.IntN(3) {
		name := fmt.Sprintf("Cluster Service/shop/s%d/80", random.IntN(4))
		content := fmt.Sprint("v", step)
		switch random.IntN(5) {
		case 0:
			content = fmt.Sprint("bad", step)
		case 1:
			content = "same"
		case 2:
			if _, there := now[name]; there {
				delete(now, name)
				changes = append(changes, "-"+name)
				continue
			}
		}
		now[name] = content
		changes = append(changes, name+"@"+content)
	}
	return changes
}
