package explain

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// An Index answers as Request does, whatever the paths of rules and requests are.
func TestIndexAnswersAsRequest(t *testing.T) {
	values := []string{"", "/", "/a", "/a/", "/a/b", "/a/b/", "//", "/a//", "/ab", "/a/b/c"}
	kinds := []ir.PathKind{ir.PathExact, ir.PathPrefix, ir.PathRegex}
	r := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	for range testsize.Of(t, 300) {
		var rules []*ir.Rule
		for i := range 12 {
			path := ir.Path{Kind: kinds[r.IntN(3)], Value: values[r.IntN(len(values))]}
			if path.Kind == ir.PathRegex {
				path.Value = []string{"/a.*", ".*/b", "/a/b"}[r.IntN(3)]
			}
			rule := &ir.Rule{
				Name: fmt.Sprint(i), Match: ir.Match{Path: path, Method: []string{"", "", "GET", "POST"}[r.IntN(4)]},
				Source: &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "a", Name: fmt.Sprint(i)}}, Position: []int{0, 0},
				Action: ir.Action{Respond: &ir.Respond{Status: uint32(200 + i)}},
			}
			rules = append(rules, rule)
		}
		view := &ir.View{Gateways: []ir.GatewayView{{Name: "a/eg", Ports: []ir.PortView{{
			Port:  &ir.Port{Gateway: "a/eg", Port: 80, Chains: []ir.Chain{{}}},
			Hosts: []ir.HostView{{Domain: "*", Rules: slices.Values(rules), Len: len(rules)}},
		}}}}}
		index := NewIndex(view)
		for _, path := range append(values[1:], "/a/b/c/d", "/x", "/a?q=/b", strings.Repeat("/a", 200)) {
			query := Query{Host: "x", Port: 80, Method: "GET", Path: path, Headers: http.Header{}}
			got, want := index.Request(query), Request(view, query)
			got.Passed = want.Passed
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, want %+v", path, got, want)
			}
		}
	}
}
