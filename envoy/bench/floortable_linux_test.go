package bench

import (
	"fmt"
	"slices"
	"time"

	matcherconfigv3 "github.com/cncf/xds/go/xds/core/v3"
	matchersv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typematcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// bucketSize is how many routes a leaf of the floor's trees holds, and the largest host
// that is no tree.
const bucketSize = 64

// Numbers of fields that are put around kept bytes by hand.
const (
	virtualHosts protowire.Number = 2 // of RouteConfiguration
	hostMatcher  protowire.Number = 21
	matcherTree  protowire.Number = 2
	prefixMap    protowire.Number = 3
)

// floorTable is a RouteConfiguration that keeps the bytes of what did not change.
type floorTable struct {
	shape shape
	head  []byte // all but the hosts
	hosts []*floorHost
	where map[string]floorPlace // by path
}

type floorHost struct {
	head    []byte // name and domains
	input   []byte // of the matcher
	buckets []*floorBucket
}

type floorBucket struct {
	key     string
	routes  []*routev3.Route
	encoded []byte // an entry of the map, or the host's routes
}

// floorPlace says where a route lies.
type floorPlace struct {
	host   *floorHost
	bucket *floorBucket
	index  int
}

func newFloorTable(s shape) *floorTable {
	t := &floorTable{shape: s, where: map[string]floorPlace{}}
	t.head = mustMarshal(&routev3.RouteConfiguration{
		Name: tableName("127.0.0.1:10000"), ValidateClusters: wrapperspb.Bool(false), IgnorePortInHostMatching: true,
	})
	for h := range s.Hosts {
		host := &floorHost{
			head: mustMarshal(&routev3.VirtualHost{Name: s.host(h), Domains: []string{s.host(h)}}),
			input: mustMarshal(&matchersv3.Matcher_MatcherTree{Input: &matcherconfigv3.TypedExtensionConfig{
				Name: "path", TypedConfig: pack(&typematcherv3.HttpRequestHeaderMatchInput{HeaderName: ":path"}),
			}}),
		}
		var members []int
		for i := h; i < s.Routes; i += s.Hosts {
			members = append(members, i)
		}
		slices.SortFunc(members, func(a, b int) int { return compare(s.path(a), s.path(b)) })
		for part := range slices.Chunk(members, bucketSize) {
			bucket := &floorBucket{key: s.path(part[0])}
			for _, i := range part {
				t.where[s.path(i)] = floorPlace{host, bucket, len(bucket.routes)}
				bucket.routes = append(bucket.routes, floorRoute(s.envoyName(i), s.path(i), "Backend/default/"+s.backend(i), "00000000"))
			}
			host.buckets = append(host.buckets, bucket)
		}
		for _, bucket := range host.buckets {
			bucket.encode(len(host.buckets) > 1)
		}
		t.hosts = append(t.hosts, host)
	}
	return t
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// set takes in a changed route: its place is known by its path.
func (t *floorTable) set(route *gwv1.HTTPRoute) {
	rule := route.Spec.Rules[0]
	place := t.where[*rule.Matches[0].Path.Value]
	before := place.bucket.routes[place.index]
	place.bucket.routes[place.index] = floorRoute(before.Name, before.Match.GetPathSeparatedPrefix(),
		fmt.Sprintf("Backend/default/%s", rule.BackendRefs[0].Name), rule.Filters[0].RequestHeaderModifier.Set[0].Value)
	place.bucket.encode(len(place.host.buckets) > 1)
}

// floorRoute is a route as gatefold makes it.
func floorRoute(name, path, cluster, revision string) *routev3.Route {
	return &routev3.Route{
		Name:  name,
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: path}},
		RequestHeadersToAdd: []*corev3.HeaderValueOption{{
			Header: &corev3.HeaderValue{Key: "x-revision", Value: revision}, AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier:            &routev3.RouteAction_Cluster{Cluster: cluster},
			ClusterNotFoundResponseCode: routev3.RouteAction_INTERNAL_SERVER_ERROR,
			Timeout:                     durationpb.New(time.Duration(0)),
		}},
	}
}

// encode makes the bucket's bytes anew.
func (b *floorBucket) encode(inTree bool) {
	if !inTree {
		b.encoded = mustMarshal(&routev3.VirtualHost{Routes: b.routes})
		return
	}
	b.encoded = mustMarshal(&matchersv3.Matcher_MatcherTree_MatchMap{Map: map[string]*matchersv3.Matcher_OnMatch{
		b.key: {OnMatch: &matchersv3.Matcher_OnMatch_Action{Action: &matcherconfigv3.TypedExtensionConfig{
			Name: "routes", TypedConfig: pack(&routev3.RouteList{Routes: b.routes}),
		}}},
	}})
}

// join puts the kept bytes together: each byte is copied once.
func (t *floorTable) join() []byte {
	size := len(t.head)
	for _, host := range t.hosts {
		size += fieldSize(virtualHosts, host.size())
	}
	out := append(make([]byte, 0, size), t.head...)
	for _, host := range t.hosts {
		out = host.appendTo(appendField(out, virtualHosts, host.size()))
	}
	return out
}

func (h *floorHost) size() int {
	if len(h.buckets) == 1 {
		return len(h.head) + h.entries()
	}
	return len(h.head) + fieldSize(hostMatcher, h.matcher())
}

func (h *floorHost) entries() int {
	sum := 0
	for _, bucket := range h.buckets {
		sum += len(bucket.encoded)
	}
	return sum
}

func (h *floorHost) tree() int    { return len(h.input) + fieldSize(prefixMap, h.entries()) }
func (h *floorHost) matcher() int { return fieldSize(matcherTree, h.tree()) }

func (h *floorHost) appendTo(out []byte) []byte {
	out = append(out, h.head...)
	if len(h.buckets) > 1 {
		out = appendField(out, hostMatcher, h.matcher())
		out = appendField(out, matcherTree, h.tree())
		out = append(out, h.input...)
		out = appendField(out, prefixMap, h.entries())
	}
	for _, bucket := range h.buckets {
		out = append(out, bucket.encoded...)
	}
	return out
}

func appendField(out []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.BytesType), uint64(size))
}

func fieldSize(field protowire.Number, size int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(size)
}

func mustMarshal(message proto.Message) []byte {
	body, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return body
}

func pack(message proto.Message) *anypb.Any {
	packed, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return packed
}
