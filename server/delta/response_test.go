package delta

import (
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/xds"
)

// What is framed by hand reads as the same message as what the stock encoder
// would have made.
func TestAFrameIsAnOrdinaryMessage(t *testing.T) {
	resources := []*xds.Resource{
		{Type: rds, Name: "empty", Version: "v"},
		{Type: rds, Name: strings.Repeat("long", 100), Version: "v2", Body: []byte(strings.Repeat("b", 70_000))},
		{Type: rds, Name: "ümlaut", Version: "v3", Body: []byte{0, 1, 2}},
	}
	r := &Response{Type: rds, nonce: "zz", Removed: []string{"gone", "also"}}
	want := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: rds, Nonce: "zz", RemovedResources: r.Removed}
	for _, resource := range resources {
		r.Set = append(r.Set, NewEntry(resource))
		want.Resources = append(want.Resources, &discoveryv3.Resource{
			Name: resource.Name, Version: resource.Version, Resource: &anypb.Any{TypeUrl: rds, Value: resource.Body}})
	}
	got := &discoveryv3.DeltaDiscoveryResponse{}
	if err := proto.Unmarshal(r.frame().Materialize(), got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// A body is never copied: every frame holds the bytes that translate made.
func TestFramesShareTheBody(t *testing.T) {
	e := NewEntry(&xds.Resource{Type: rds, Name: "r", Version: "1", Body: []byte("body")})
	for range 2 {
		f := (&Response{Type: rds, Set: []*Entry{e}}).frame()
		if body := f[1].ReadOnlyData(); &body[0] != &e.Body[0] {
			t.Error("the body was copied")
		}
	}
}

func TestTheQueueIsAnOrderedSet(t *testing.T) {
	var q queue
	for _, name := range []string{"b", "a", "b", "c"} {
		q.push(name)
	}
	q.drop("a")
	q.drop("nothing")
	q.push("a")
	got := ""
	for name, ok := q.peek(); ok; name, ok = q.peek() {
		got += name
		q.drop(name)
	}
	if _, ok := q.peek(); got != "bca" || ok || q.in != nil {
		t.Errorf("got %q, want bca", got)
	}
}

func TestEnvoysWordsAreShortenedAndSecretsLeftOut(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nMIIabc"
	for _, c := range []struct{ typ, words, want string }{
		{rds, "missing ): ((\n", "missing ): (("},
		{rds, `virtual_hosts { name: "x" } ` + constraintMark + " (Field: [...])", constraintMark + " (Field: [...])"},
		{rds, strings.Repeat("x", 2000), strings.Repeat("x", 1000) + "…"},
		{rds, "Duplicated credential key: 'k-acme'", "Duplicated credential key: " + redacted},
		{sds, key, redacted},
		{sds, "name: \"s\" tls_certificate { " + key + " } " + constraintMark + " (X)", constraintMark + " (X)"},
		{sds, "Failed to load private key from <inline>", "Failed to load private key from <inline>"},
	} {
		if got := plainWords(c.typ, c.words); got != c.want {
			t.Errorf("%q: got %q, want %q", c.words, got, c.want)
		}
	}
}

func TestBlameNeedsTheWholeName(t *testing.T) {
	words := "Error adding/updating cluster(s) shop/a: bad, shop/b: worse"
	for name, want := range map[string]bool{"shop/a": true, "shop/b": true, "a": false, "shop": false, "b": false} {
		if got := blames(words, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if blames("missing ): (( a: b", "a") {
		t.Error("words that name nobody blame a")
	}
}
