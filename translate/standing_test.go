package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// TestWeightsOfTeams edits families of routes whose files are the platform's or a team's, and compares the order of
// each host with the sentence that says it: a team's rule stands at the later of its own standard place and the last
// standard place of its namespace's heavier rules, heavier first at one place, in each block.
func TestWeightsOfTeams(t *testing.T) {
	moved, first := 0, testsize.Seed(t)
	for seed := first; seed < first+uint64(testsize.Of(t, 8)); seed++ {
		r := rand.New(rand.NewPCG(seed, 31))
		scope := pick(r, translate.VirtualHost, translate.Siblings)
		w, files := newFenced(t, translate.Options{Weighted: true, WeightScope: scope}), map[string]string{}
		put := func(name, text string) {
			delete(files, "platform/"+name)
			delete(files, "team/"+name)
			files[pick(r, "platform/", "team/", "team/", "team/")+name] = text
		}
		for name, text := range family(r) {
			put(name, text)
		}
		files["platform/spaces.yaml"] = ""
		for _, space := range []string{"a", "b", "c"} {
			files["platform/spaces.yaml"] += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + space + ", annotations: {gatefold.io/delegation-from: '*', gatefold.io/gateway-ports: 1-65535}}\n"
		}
		for range 12 {
			w.apply(tree(files))
			w.checkCold(t)
			for _, gateway := range w.view().Gateways {
				for _, port := range gateway.Ports {
					for _, host := range port.Hosts {
						moved += checkPlaces(t, slices.Collect(host.Rules), fmt.Sprint("seed ", seed, " ", host.Domain))
					}
				}
			}
			routes := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return !strings.Contains(name, "httproute-") })
			for range 1 + r.IntN(2) {
				name := pick(r, routes...)
				_, base, _ := strings.Cut(name, "/")
				switch fresh := family(r)[base]; {
				case r.IntN(8) == 0:
					delete(files, name)
				case r.IntN(3) == 0 && fresh != "":
					put(base, fresh)
				case files[name] != "":
					put(base, weightOf.ReplaceAllString(files[name], fmt.Sprintf(`kgateway.dev/route-weight: "%d"`, r.IntN(5)-2)))
				}
			}
		}
	}
	if moved < 30 {
		t.Errorf("weights moved a rule %d times: the test shows little", moved)
	}
}

// checkPlaces compares the order of the rules of a host with what the sentence makes of them. It returns the number of
// rules that do not stand at their standard places.
func checkPlaces(t *testing.T, rules []*ir.Rule, where string) (moved int) {
	t.Helper()
	var got []string
	for i, rule := range rules {
		got = append(got, rule.Name)
		if rule.After != nil {
			moved++
		}
		if i > 0 && (route.Compare(rules[i-1], rule) >= 0 || route.Compare(rule, rules[i-1]) <= 0) {
			t.Fatalf("%s: %s and %s are not in order", where, rules[i-1].Name, rule.Name)
		}
	}
	if want := placed(rules, 0); !slices.Equal(got, want) {
		t.Fatalf("%s:\n%s\nnot\n%s", where, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return moved
}

// placed returns the names of rules of one block, the blocks around which are given by depth, in order.
func placed(rules []*ir.Rule, depth int) (names []string) {
	steps, below := []*ir.Rule{}, map[string][]*ir.Rule{}
	for _, rule := range rules {
		step := *rule
		if depth < len(rule.Blocks) {
			step = *rule.Blocks[depth]
		}
		step.After = nil
		id := fmt.Sprint(step.Name, depth < len(rule.Blocks))
		if below[id] == nil {
			step.Section = id // which the order does not look at
			steps = append(steps, &step)
		}
		below[id] = append(below[id], rule)
	}
	slices.SortFunc(steps, route.CompareStandard)
	place := make([]int, len(steps))
	for i, step := range steps {
		place[i] = i
		for j, other := range steps {
			heavier := step.Source.Outside && other.Source.Outside && step.Source.Key.Namespace == other.Source.Key.Namespace && other.Weight > step.Weight
			if heavier && !route.EndsBlock(step) && !route.EndsBlock(other) {
				place[i] = max(place[i], j)
			}
		}
	}
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if place[a] != place[b] {
			return place[a] - place[b]
		}
		return int(steps[b].Weight) - int(steps[a].Weight)
	})
	for _, i := range order {
		if own := below[steps[i].Section]; depth < len(own[0].Blocks) {
			names = append(names, placed(own, depth+1)...)
		} else {
			names = append(names, own[0].Name)
		}
	}
	return names
}
