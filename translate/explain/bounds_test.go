package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

func httpRoute(name string) manifest.Key {
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "n", Name: name}
}

// What a route with many regular expressions costs does not grow with its problems, and
// what all routes cost is bounded.
func TestPatternsOfBrokenRoutesAreCompiledOnce(t *testing.T) {
	o := &overlaps{path: "/a/b", host: "a.test", outlines: map[manifest.Key]outline{}, fits: map[matchAt]int{}}
	add := func(name string, patterns int) {
		var rule store.RuleOutline
		for i := range patterns {
			rule.Paths = append(rule.Paths, store.PathOutline{Type: "RegularExpression", Value: fmt.Sprintf("/a/[c-z]+%d", i)})
		}
		o.outlines[httpRoute(name)] = outline{Found: true, Rules: []store.RuleOutline{rule}}
	}
	add("one", 1000)
	s := &suspects{overlaps: o, way: map[manifest.Key]bool{}}
	for range 500 {
		s.rank(&manifest.Problem{Object: httpRoute("one"), Field: "spec.parentRefs[0]"})
	}
	if o.compiled != 1000 {
		t.Errorf("%d patterns are compiled", o.compiled)
	}
	for i := range 50 {
		add(fmt.Sprint(i), 1000)
		s.rank(&manifest.Problem{Object: httpRoute(fmt.Sprint(i)), Field: "spec.parentRefs[0]"})
	}
	if o.compiled > maxCompiled {
		t.Errorf("%d patterns are compiled", o.compiled)
	}
}

// Of the patterns of a table, those are compiled that begin as the path does.
func TestPatternsThatBeginOtherwiseAreNotCompiled(t *testing.T) {
	pattern := "/other/[a-z]{1,100}/(x|y)"
	if pattern = strings.ReplaceAll(pattern, "|", ""); testing.AllocsPerRun(10, func() { matchesWhole(pattern, "/a/b") }) != 0 {
		t.Error("the pattern is compiled")
	}
	for pattern, value := range map[string]string{
		"/ab?c": "/ac", "/a{0}b": "/b", "/a*": "/", "/é?x": "/\xc3x", "/a|/b": "/b", "(?i)/A": "/a", `\Q/a\E`: "/a", "/a+": "/aa", "": "",
	} {
		if !matchesWhole(pattern, value) {
			t.Errorf("%s does not match %s", pattern, value)
		}
	}
}

// Of a tree of delegation, what the path does not reach is not read.
func TestOnlyDelegationOnTheWayIsRead(t *testing.T) {
	const width, depth = 200, 20
	var rules []*ir.Rule
	for w := range width {
		rule := &ir.Rule{Source: &ir.Origin{Key: httpRoute("leaf")}, Position: []int{0, 0}, Match: ir.Match{Path: ir.Path{Value: "/none"}}}
		for d := range depth {
			rule.Chain = append(rule.Chain, ir.Hop{Route: httpRoute(fmt.Sprint(w, "-", d))})
		}
		rules = append(rules, rule)
	}
	read := 0
	facts := Facts{Outlines: func(keys []manifest.Key) []store.Outline {
		out := make([]store.Outline, len(keys))
		for i, key := range keys {
			read++
			out[i] = store.Outline{Found: true, Rules: []store.RuleOutline{{Paths: []store.PathOutline{{Value: "/" + strings.Split(key.Name, "-")[0]}}}}}
		}
		return out
	}}
	b := &requestReporter{reporter: reporter{facts: facts, query: Query{Host: "a.test"}, report: &Report{}}, over: &overlaps{
		path: "/7/x", routes: map[manifest.Key]bool{}, outlines: map[manifest.Key]outline{}, fits: map[matchAt]int{},
	}}
	d := b.findDelegation(&ir.HostView{Rules: slices.Values(rules), Len: len(rules)})
	if d == nil || len(d.chain) != depth || d.chain[0].Route.Name != "7-0" {
		t.Errorf("got %+v", d)
	}
	if read != width+depth-1 {
		t.Errorf("%d routes are read", read)
	}
}

// A report has a bounded number of policies, and those that are not in force among them.
func TestPoliciesOfAReportAreBounded(t *testing.T) {
	policies := []*ir.Policy{}
	for i := range 1000 {
		p := &ir.Policy{Key: manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: "n", Name: fmt.Sprintf("p%04d", i)}}
		p.Targets = []ir.PolicyTarget{{Object: httpRoute("a")}}
		policies = append(policies, p)
	}
	policies[999].Targets[0] = ir.PolicyTarget{Object: httpRoute("a"), Section: "gone", Lost: "there is none"}
	rule := &ir.Rule{Source: &ir.Origin{Key: httpRoute("a")}, Position: []int{0, 0}}
	b := newPolicyReporter(&requestReporter{answer: Answer{Rule: rule}, reporter: reporter{facts: Facts{View: &ir.View{Policies: policies}}, report: &Report{
		Listener: &ListenerReport{Gateway: "n/g"}, Route: &RouteReport{Hops: HopsOf(rule)},
	}}})
	b.add()
	if len(b.report.Policies) != maxPolicies || b.report.Policies[0].Object != policies[999].Key {
		t.Errorf("%d policies, the first is %+v", len(b.report.Policies), b.report.Policies[0])
	}
}

// Long names and paths are compared in part.
func TestComparedTextsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	if n := distance(long, strings.ToUpper(long)); n > maxComparedText {
		t.Errorf("%d characters are compared", n)
	}
}

// A tree repeats the rejected routes of a route in a bounded number.
func TestRefusedRoutesOfATreeAreBounded(t *testing.T) {
	var statuses []status.Update
	for i := range 2000 {
		parent := gwv1.RouteParentStatus{ParentRef: gwv1.ParentReference{Name: "root"}}
		kind := gwv1.Kind("HTTPRoute")
		parent.ParentRef.Kind = &kind
		parent.Conditions = []metav1.Condition{{Type: string(gwv1.RouteConditionAccepted), Status: "False", Reason: "No"}}
		statuses = append(statuses, status.Update{Key: httpRoute(fmt.Sprint(i)), Status: &gwv1.RouteStatus{Parents: []gwv1.RouteParentStatus{parent}}})
	}
	var hosts []ir.HostView
	for i := range 50 {
		rule := &ir.Rule{Source: &ir.Origin{Key: httpRoute("root")}, Position: []int{0, 0}, Action: ir.Action{Respond: &ir.Respond{Status: 500}}}
		hosts = append(hosts, ir.HostView{Domain: fmt.Sprint(i), Rules: slices.Values([]*ir.Rule{rule}), Len: 1})
	}
	view := &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{{Port: &ir.Port{}, Hosts: hosts}}}}}
	nodes := Tree(Facts{View: view, Statuses: statuses, Places: func(fields []manifest.Field) []store.Place {
		if len(fields) > 50*(maxNotAcceptedShown+4)+1 {
			t.Errorf("%d nodes", len(fields))
		}
		return make([]store.Place, len(fields))
	}}, TreeFilter{})
	list := nodes[0].Below[0].Below[0].Below
	if last := list[len(list)-1].Name; !slices.ContainsFunc(list, func(n *TreeNode) bool { return n.Name == "and 1900 more, which gatefold validate lists" }) {
		t.Errorf("the last is %s", last)
	}
}
