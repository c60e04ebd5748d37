package policy

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

func byName(a, b *ir.Origin) int { return cmp.Compare(a.Key.Name, b.Key.Name) }

func attached(name string, spec api.TrafficPolicySpec) *Attached {
	return &Attached{Origin: &ir.Origin{Key: manifest.Key{Kind: "TrafficPolicy", Name: name}}, Standing: ByObject, Spec: &spec}
}

// source is a policy that sets the response header source, and a rate limit.
func source(name string, tokens int32) *Attached {
	return attached(name, api.TrafficPolicySpec{
		Transformation: &api.Transformation{Response: &api.Transform{Set: []api.HeaderTemplate{{Name: "source", Value: name}}}},
		RateLimit:      &api.RateLimit{Local: &api.LocalRateLimit{TokenBucket: &api.TokenBucket{MaxTokens: tokens, FillInterval: "1s"}}},
	})
}

// TestMatrix is the worked example of docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies: root g,
// middle p, leaf c; the names of the priorities mean what they say for every
// field. A cell has the order of set (the last one is what the client sees), then
// whose rate limit is in force. Rows are g's priority, columns p's.
func TestMatrix(t *testing.T) {
	order := []Strategy{ShallowMergePreferParent, ShallowMergePreferChild, DeepMergePreferParent, DeepMergePreferChild}
	want := [][]string{
		{"g;g", "g;g", "g;g", "g;g"},
		{"p;p", "c;c", "c,p;p", "p,c;c"},
		{"p,g;g", "c,g;g", "c,p,g;g", "p,c,g;g"},
		{"g,p;p", "g,c;c", "g,c,p;p", "g,p,c;c"},
	}
	for row, g := range order {
		for column, p := range order {
			// The leaf's own annotation has no effect.
			for _, c := range order {
				resolved := Resolve([]Level{
					NewLevel([]*Attached{source("g", 1)}, g, byName),
					NewLevel([]*Attached{source("p", 2)}, p, byName),
					NewLevel([]*Attached{source("c", 3)}, c, byName),
				})
				if got := cell(resolved); got != want[row][column] {
					t.Errorf("g %s, p %s, c %s: %s, want %s", g, p, c, got, want[row][column])
				}
			}
		}
	}
}

// cell writes a result as the matrix does, from what is lowered and from what is
// told of its origins, which must agree.
func cell(r Resolved) string {
	extras := r.Extras()
	var set []string
	for _, change := range extras.Response {
		set = append(set, change.Value[0].Text)
	}
	limit := string("?gpc"[extras.RateLimit.Max])
	told := map[ir.Field]string{}
	for _, origin := range r.Origins {
		var names []string
		for _, key := range origin.From {
			names = append(names, key.Name)
		}
		told[origin.Field] = strings.Join(names, ",")
	}
	text := strings.Join(set, ",") + ";" + limit
	if origins := told["transformation"] + ";" + told["rateLimit.local"]; origins != text {
		return text + " told as " + origins
	}
	return text
}

func TestLevelIsFilledByLowerPolicies(t *testing.T) {
	yes, no := true, false
	seconds := api.Duration("1s")
	extension := attached("z", api.TrafficPolicySpec{AutoHostRewrite: &yes})
	extension.Standing = ByExtension
	rule := attached("y", api.TrafficPolicySpec{AutoHostRewrite: &no, Timeouts: &api.Timeouts{Request: &seconds}})
	rule.Standing = BySection
	light, heavy := source("a", 1), source("b", 2)
	heavy.Weight = 1
	again := *extension
	again.Standing = ByObject
	level := NewLevel([]*Attached{light, &again, rule, heavy, extension}, ShallowMergePreferChild, byName)
	var order string
	for _, policy := range level.Specs {
		order += policy.Origin.Key.Name
	}
	if order != "zyba" {
		t.Errorf("order %s", order)
	}
	resolved := Resolve([]Level{level})
	extras := resolved.Extras()
	if !extras.AutoHost || *extras.RequestTimeout != 1e9 || extras.RateLimit.Max != 2 {
		t.Errorf("%+v", extras)
	}
	want := map[string]Effect{"z": WhollyUsed, "y": Merged, "b": WhollyUsed, "a": Overridden}
	for _, use := range resolved.Uses {
		if want[use.Policy.Name] != use.Effect {
			t.Errorf("%s: effect %d", use.Policy.Name, use.Effect)
		}
	}
}

// TestMergeLeavesPoliciesAlone holds that merging changes none of its inputs.
func TestMergeLeavesPoliciesAlone(t *testing.T) {
	parent, child := source("p", 1), source("c", 2)
	before := fmt.Sprintf("%+v %+v", *parent.Spec.Transformation.Response, *child.Spec.Transformation.Response)
	for s := range Strategy(4) {
		Resolve([]Level{{Specs: []*Attached{parent}, Priority: s}, {Specs: []*Attached{child}}})
	}
	if after := fmt.Sprintf("%+v %+v", *parent.Spec.Transformation.Response, *child.Spec.Transformation.Response); after != before {
		t.Errorf("%s\n%s", before, after)
	}
	if parent.Spec.RateLimit.Local.TokenBucket.MaxTokens != 1 {
		t.Error("a rate limit was changed")
	}
}

// TestPreferredSideHasTheLastWord merges changes of one header that differ in
// kind: what the preferred side writes, the other neither adds to nor removes.
func TestPreferredSideHasTheLastWord(t *testing.T) {
	response := func(tr api.Transform) *Attached {
		return attached("x", api.TrafficPolicySpec{Transformation: &api.Transformation{Response: &tr}})
	}
	header := []api.HeaderTemplate{{Name: "X-A", Value: "v"}}
	parent := response(api.Transform{Add: header, Remove: []string{"x-b", "x-c"}})
	child := response(api.Transform{Set: []api.HeaderTemplate{{Name: "x-a", Value: "w"}, {Name: "X-B", Value: "w"}}})
	levels := func(s Strategy) []Level {
		return []Level{{Specs: []*Attached{parent}, Priority: s}, {Specs: []*Attached{child}}}
	}
	got := Resolve(levels(DeepMergePreferChild)).Spec.Transformation.Response
	if len(got.Set) != 2 || len(got.Add) != 0 || !reflect.DeepEqual(got.Remove, []string{"x-c"}) {
		t.Errorf("child preferred: %+v", got)
	}
	got = Resolve(levels(DeepMergePreferParent)).Spec.Transformation.Response
	if len(got.Set) != 2 || len(got.Add) != 1 || len(got.Remove) != 2 {
		t.Errorf("parent preferred: %+v", got)
	}
}

func TestAnnotations(t *testing.T) {
	for text, want := range map[string]Strategy{"DeepMergePreferParent": DeepMergePreferParent, "PreferParent": unknownPriority} {
		got, ok := StrategyOf(map[string]string{api.AnnotationPolicyPriority: text})
		if got != want || ok != (text != "PreferParent") {
			t.Errorf("%s: %s %v", text, got, ok)
		}
	}
	if _, ok := StrategyOf(nil); !ok {
		t.Error("no annotation is fine")
	}
	for text, want := range map[string]int32{"-3": -3, "+3": 3, "x": 0, "4294967296": 0} {
		got, ok := WeightOf(map[string]string{api.AnnotationPolicyWeight: text})
		if got != want || ok != (want != 0) {
			t.Errorf("%s: %d %v", text, got, ok)
		}
	}
}

func TestTemplates(t *testing.T) {
	head := func(name string) ir.Expr { return ir.Expr{Func: "header", Text: name} }
	for value, want := range map[string]ir.Template{
		"":                        nil,
		"plain %REQ(x)%":          {{Text: "plain %REQ(x)%"}},
		`{{ header("X-A") }}`:     {head("x-a")},
		`a-{{header('x-a')}}-b`:   {{Text: "a-"}, head("x-a"), {Text: "-b"}},
		`{{ header(":path") }}`:   {head(":path")},
		`{{ "a \"b\" }" }}`:       {{Text: `a "b" }`}},
		`{{ lower(header("a"))}}`: {{Func: "lower", Args: []ir.Expr{head("a")}}},
		`{{ default(request_header("a"), "x") }}`: {{Func: "default", Text: "x", Args: []ir.Expr{{Func: "request_header", Text: "a"}}}},
	} {
		got, fault := parseTemplate(value)
		if fault != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %+v", value, got, fault)
		}
	}
	for _, value := range []string{
		"{{", "{{ }}", "{{ body() }}", `{{ header("x") `, `{{ header(x) }}`, `{{ header("x", "y") }}`, `{{ header("a b") }}`,
		`{{ header("x") + "y" }}`, `{% if true %}`, `{# no #}`, `{{ header("x)%") }}`, `{{ default(header("x")) }}`, `{{ "a" "b" }}`,
		`{{ header("x") ~ }}`, `{{ lower(lower(lower(lower(lower(lower("x")))))) }}`,
	} {
		if got, fault := parseTemplate(value); fault == nil {
			t.Errorf("%s: %+v", value, got)
		}
	}
}
