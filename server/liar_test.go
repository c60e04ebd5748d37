package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// liar is a client that calls itself an Envoy, answers probes as one does, and rejects every
// form of a table that has a route whose name it does not like.
type liar struct {
	*client
	table string
	lies  atomic.Int32
	ended chan struct{}
}

// lie connects a liar, which hates a route of the Gateway's table, for node.cluster.
func (f *folded) lie(cluster, hates string) *liar {
	f.t.Helper()
	c := f.open("")
	_, port, _ := strings.Cut(f.address, ":")
	l := &liar{client: c, table: ir.TableName("default/eg/http-"+port, ir.FilterGeneration), ended: make(chan struct{})}
	c.send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "liar", Cluster: cluster, UserAgentName: "envoy"}, TypeUrl: cds})
	c.ask(lds)
	c.ask(rds, l.table)
	go l.run(hates)
	return l
}

func (l *liar) run(hates string) {
	defer close(l.ended)
	for {
		response, err := l.stream.Recv()
		if err != nil {
			return
		}
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce}
		var tables [][]byte
		for _, r := range response.Resources {
			tables = append(tables, r.Resource.Value)
		}
		if words := lieAbout(response.TypeUrl, tables, hates); words != "" {
			answer.ErrorDetail = status.New(codes.InvalidArgument, words).Proto()
			l.lies.Add(1)
		}
		_ = l.stream.Send(answer)
	}
}

// lieInWorlds connects a liar of the state-of-the-world protocol.
func (f *folded) lieInWorlds(hates string) *liar {
	f.t.Helper()
	c := f.world()
	_, port, _ := strings.Cut(f.address, ":")
	l := &liar{client: &client{t: f.t, close: c.close}, table: ir.TableName("default/eg/http-"+port, ir.FilterGeneration), ended: make(chan struct{})}
	c.node = &corev3.Node{Id: "liar", Cluster: "default/eg", UserAgentName: "envoy"}
	for _, typ := range []string{cds, lds, rds} {
		if typ == rds {
			c.names[rds] = []string{l.table}
		}
		c.send(&discoveryv3.DiscoveryRequest{TypeUrl: typ})
	}
	go func() {
		defer close(l.ended)
		for response := range c.got {
			answer := &discoveryv3.DiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce, ResourceNames: c.names[response.TypeUrl]}
			var tables [][]byte
			for _, r := range response.Resources {
				tables = append(tables, r.Value)
			}
			if words := lieAbout(response.TypeUrl, tables, hates); words != "" {
				answer.ErrorDetail = status.New(codes.InvalidArgument, words).Proto()
				l.lies.Add(1)
			}
			_ = c.stream.Send(answer)
		}
	}()
	return l
}

// lieAbout is what a liar says of tables, which it reads from their beginning as Envoy does.
func lieAbout(typ string, tables [][]byte, hates string) string {
	for _, body := range tables {
		if typ != rds {
			continue
		}
		table := &routev3.RouteConfiguration{}
		if err := proto.Unmarshal(body, table); err != nil {
			return err.Error()
		}
		for _, host := range table.VirtualHosts {
			for _, route := range host.Routes {
				if regex := route.GetMatch().GetSafeRegex().GetRegex(); strings.Contains(regex, probeMark) {
					return "missing ): " + regex
				}
				if strings.Contains(route.Name, hates) {
					return "I do not like it"
				}
			}
		}
	}
	return ""
}

// leave ends the stream and waits until the server knows.
func (l *liar) leave(f *folded) {
	l.close()
	<-l.ended
	f.until("the liar is gone", func() bool {
		for _, st := range f.audience("default/eg") {
			if st.Node == "liar" {
				return false
			}
		}
		return true
	})
}

// honest starts an Envoy that takes all.
func (f *folded) honest(node string) *envoytest.Envoy {
	return envoytest.Start(f.t, envoytest.Options{Config: f.bootstrap(node)})
}

// clean waits until the status of a route says nothing of rejections.
func (f *folded) clean(route string) {
	f.t.Helper()
	envoytest.Wait(f.t, route+" without a rejection", func() error {
		if said := f.says(httpRoute(route)); strings.Contains(said, "liar") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
}

// steady asks for a path until the test ends: every answer leads to host.
func (f *folded) steady(path, host string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			response, err := envoytest.Try(envoytest.Request{Address: f.address, Path: path})
			if err != nil || !strings.Contains(response.Headers.Get("Location"), host) {
				f.t.Errorf("%s: %v, %+v", path, err, response)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// newLiars is a folder with two routes, in a server that waits for nobody's answer for long.
func newLiars(t *testing.T) *folded {
	f := startFolded(t, server.Options{BarrierWait: 50 * time.Millisecond})
	f.route("aa", "aa.example", "")
	f.route("bb", "bb.example", "")
	return f
}

// A client that was alone decides nothing for an Envoy that connects later, whether it has
// left by then or not, and whatever Gateways it asks for.
func TestALiarThatWasAloneDecidesNothing(t *testing.T) {
	for _, cluster := range []string{"default/eg", "all", "state of the world"} {
		for _, stays := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stays %t", cluster, stays), func(t *testing.T) {
				f := newLiars(t)
				liar := (*liar)(nil)
				if cluster == "state of the world" {
					liar = f.lieInWorlds("default/bb/")
				} else {
					liar = f.lie(cluster, "default/bb/")
				}
				f.waitFor(httpRoute("bb"), "liar", "I do not like it")
				if !stays {
					liar.leave(f)
					f.clean("bb")
				}
				f.honest("edge")
				f.leads("/bb", "bb.example")
				f.leads("/aa", "aa.example")
				f.clean("bb")
			})
		}
	}
}

// Beside an Envoy that serves, a client decides nothing about new routes and edited ones, and
// the Envoy's requests never fail; that an Envoy is busy for longer than gatefold waits
// changes nothing.
func TestALiarBesideAnEnvoyDecidesNothing(t *testing.T) {
	f := newLiars(t)
	edge := f.honest("edge")
	f.leads("/bb", "bb.example")
	stop := f.steady("/aa", "aa.example")
	first := f.lie("default/eg", "default/dd/")
	liar := f.lie("all", "default/bb/")
	f.route("dd", "dd.example", "")
	f.leads("/dd", "dd.example")
	f.waitFor(ir.GatewayKey("default/eg"), `"type":"Programmed","status":"False"`, "liar", "default/dd/0/0")
	f.clean("dd")
	first.close() // it takes what the other does not
	f.until("it is gone", func() bool { return len(f.audience("default/eg")) == 2 })
	stop()
	if err := syscall.Kill(edge.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	before := liar.lies.Load()
	f.route("bb", "cc.example", "")
	f.until("the liar rejects the edit", func() bool { return liar.lies.Load() > before })
	f.waitFor(httpRoute("bb"), "liar") // the wait is over
	if err := syscall.Kill(edge.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.leads("/bb", "cc.example")
	f.clean("bb")
	f.clean("dd")
}

// Clients that connect, reject and leave again and again bring no message to an Envoy, and
// change no status.
func TestLiarsThatComeAndGoMoveNothing(t *testing.T) {
	f := newLiars(t)
	edge := f.honest("edge")
	f.leads("/bb", "bb.example")
	f.until("it holds all", func() bool { return f.one("default/eg", seen.settled) })
	sent := func() string { return edge.AdminGet("/stats?filter=update_(attempt|success|rejected)") }
	before, said := sent(), f.says(httpRoute("bb"))
	defer f.steady("/bb", "bb.example")()
	for range 20 {
		liar := f.lie("default/eg", "default/bb/")
		f.until("it has lied", func() bool { return liar.lies.Load() > 4 })
		liar.leave(f)
		if now := f.says(httpRoute("bb")); now != said {
			t.Fatalf("the status changed to %s, it was %s", now, said)
		}
	}
	if now := sent(); now != before {
		t.Errorf("the Envoy was sent messages: its figures are\n%s\nbefore they were\n%s", now, before)
	}
}

// Of two Envoys of which one cannot serve a rule, the other serves it, whichever is faster
// and whichever came first; the problem is not the rule's.
func TestOneOfTwoEnvoysDecidesNothing(t *testing.T) {
	f := startBlaming(t, server.Options{BarrierWait: 50 * time.Millisecond})
	f.route("aa", "aa.example", "")
	f.route("big", "big.example", tooBig)
	small := f.small("small")
	f.waitFor(httpRoute("big"), "small", otherLimit)
	f.leads("/aa", "aa.example")
	small.Stop() // the port is the next one's
	envoytest.Wait(t, "the rule without a rejection", func() error {
		if said := f.says(httpRoute("big")); strings.Contains(said, "small") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	f.honest("large")
	big := "/big/" + strings.Repeat("x", 150)
	f.leads(big, "big.example")
	if said := f.says(httpRoute("big")); strings.Contains(said, "small") {
		t.Errorf("it says %s", said)
	}
}

// NACKs of clusters, listeners and secrets, and such as answer nothing, name others' resources
// or have another's nonce, hurt nobody but the client that sends them.
func TestOddRejectionsHurtNobody(t *testing.T) {
	f := newLiars(t)
	f.honest("edge")
	f.leads("/bb", "bb.example")
	defer f.steady("/aa", "aa.example")()
	words := []string{"cannot bind '127.0.0.1:1': Address already in use", "Error adding/updating cluster(s) a: no, b: no", "no", probeMark, strings.Repeat("x", 1<<16)}
	for i, typ := range delta.Types() {
		c := f.open("")
		_ = c.stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "odd", Cluster: []string{"default/eg", "all", "default/other"}[i%3], UserAgentName: "envoy"},
			TypeUrl: typ, ResponseNonce: "1", ErrorDetail: status.New(codes.Internal, words[i%len(words)]).Proto()})
		go func() {
			for n := 0; ; n++ {
				response, err := c.stream.Recv()
				if err != nil {
					return
				}
				for _, nonce := range []string{"none", response.Nonce, response.Nonce} { // the last one is stale
					_ = c.stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: nonce, ErrorDetail: status.New(codes.Internal, words[n%len(words)]).Proto()})
				}
			}
		}()
		for _, other := range delta.Types() {
			_ = c.stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: other, ResourceNamesSubscribe: []string{"*"}, ResponseNonce: "1", ErrorDetail: status.New(codes.Internal, "no").Proto()})
		}
	}
	f.until("they have rejected something", func() bool {
		for _, st := range f.audience("default/eg") {
			if st.Node == "odd" && len(st.rejected()) > 0 {
				return true
			}
		}
		return false
	})
	for _, host := range []string{"one.example", "two.example"} {
		f.route("bb", host, "")
		f.leads("/bb", host)
		f.route("new-"+host[:3], host, "")
		f.leads("/new-"+host[:3], host)
	}
	for _, key := range []manifest.Key{httpRoute("aa"), httpRoute("bb"), httpRoute("new-one")} {
		if said := f.says(key); strings.Contains(said, "odd") {
			t.Errorf("%s says %s", key, said)
		}
	}
}
