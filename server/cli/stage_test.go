package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/admin"
)

// canary connects a client of stage canary that takes no route to /bad.
func (r *restarted) canary() *picky {
	return startPickyAs(r.served, &corev3.Node{
		Id: "canary-1", Cluster: "default/eg", UserAgentName: "envoy",
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{envoy.StageKey: structpb.NewStringValue(envoy.Canary)}},
	})
}

// fleet waits until the fleet is in a state and, where it is frozen, has one problem, which begins at this line.
func (r *restarted) fleet(state, place string) {
	r.t.Helper()
	pages := client{address: r.admin, timeout: patience}
	envoytest.Wait(r.t, "a fleet that is "+state+" "+place, func() error {
		var fleets admin.EnvoyList
		var problems problemList
		if err := errors.Join(pages.getJSON(r.t.Context(), "/api/v1/envoys", &fleets), pages.getJSON(r.t.Context(), "/api/v1/problems", &problems)); err != nil {
			return err
		}
		var places []string
		for _, p := range problems.Problems {
			if p.Code == "RevisionFrozen" {
				places = append(places, p.Position())
			}
		}
		if len(fleets.Fleets) != 1 || fleets.Fleets[0].State != state || strings.Join(places, " ") != place {
			return fmt.Errorf("%+v, problems at %q", fleets.Fleets, places)
		}
		return nil
	})
}

// What a canary rejects reaches the Envoy neither before nor after a restart, with whatever else is edited meanwhile;
// no request fails, and a fix is enough for all of it to be served.
func TestAFrozenRevisionSurvivesARestart(t *testing.T) {
	r := newRestarted(t, "steady", "edited")
	r.start()
	r.connect("edge-1")
	r.waitFor("edited", "a")
	canary := r.canary()
	r.fleet("delivered", "")
	r.write("edited.yaml", r.route("edited", "b"))
	r.waitFor("edited", "b")
	canary.holds(t, "/edited", true)

	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 200, Targets: []envoytest.Target{r.target("steady", "a"), r.target("edited", "b")}})
	r.write("bad.yaml", r.route("bad", "a"))
	r.fleet("frozen", "bad.yaml:7:5")
	r.shownInGuide()
	r.write("edited.yaml", r.route("edited", "a"))
	r.write("new.yaml", r.route("new", "a"))
	canary.holds(t, "/new", true)
	r.says("/healthz", "Revision", "is frozen", "nobody likes /bad")
	r.says("/metrics", "gatefold_frozen_fleets 1", `gatefold_problems{code="RevisionFrozen",namespace="default",severity="error"} 1`)
	r.says("/api/v1/status/Gateway/default/eg", "nobody likes /bad")

	canary.leave()
	r.waitMetric("gatefold_xds_streams", 1)
	r.stop()
	r.start()
	r.waitMetric("gatefold_xds_streams", 1)
	r.fleet("frozen", "gateway.yaml:3:18")
	canary = r.canary()
	canary.holds(t, "/new", true)
	r.fleet("frozen", "bad.yaml:7:5")
	if response, err := envoytest.Try(r.request("new")); err != nil || response.Status != 404 {
		t.Errorf("an Envoy that is no canary answers %+v, %v", response, err)
	}
	wantNoFailure(t, load, 100)

	r.write("bad.yaml", strings.Replace(r.route("bad", "a"), "/bad", "/good", 1))
	r.waitFor("edited", "a")
	r.waitFor("new", "a")
	r.fleet("delivered", "")
}

// shownInGuide wants status to print the table and the problem that the guide shows.
func (r *restarted) shownInGuide() {
	r.t.Helper()
	guide, err := os.ReadFile("../../docs/guides/staged-delivery.md")
	r.must(err)
	_, shown, _ := strings.Cut(string(guide), "gatefold status\n```\n\n```\n")
	shown, _, found := strings.Cut(shown, "```")
	if !found {
		r.t.Fatal("the guide shows no output of status")
	}
	var out strings.Builder
	Main([]string{"status", "--admin-address", r.admin}, &out, &out)
	number := regexp.MustCompile(`[0-9]+`)
	printed := number.ReplaceAllString(out.String(), "N")
	for line := range strings.Lines(shown) {
		if line = number.ReplaceAllString(strings.TrimSpace(line), "N"); line != "…" && !strings.Contains(printed, line) {
			r.t.Errorf("status does not print %q, but\n%s", line, out.String())
		}
	}
}

// says waits until a page has all of these words.
func (r *restarted) says(page string, want ...string) {
	r.t.Helper()
	pages := client{address: r.admin, timeout: patience}
	envoytest.Wait(r.t, fmt.Sprintf("%s to say %q", page, want), func() error {
		_, body, err := pages.get(r.t.Context(), page)
		for _, word := range want {
			if err == nil && !strings.Contains(string(body), word) {
				err = fmt.Errorf("it says %s", body)
			}
		}
		return err
	})
}

// A person may send all Envoys what a canary rejected; and what a damaged state says of canaries stops no start.
func TestAPersonPromotesARevision(t *testing.T) {
	r := newRestarted(t, "steady", "edited")
	r.start()
	r.connect("edge-1")
	r.waitFor("edited", "a")
	canary := r.canary()
	r.fleet("delivered", "")
	r.write("bad.yaml", r.route("bad", "a"))
	r.fleet("frozen", "bad.yaml:7:5")
	var out strings.Builder
	if code := Main([]string{"reload", "--promote", "--admin-address", r.admin}, &out, &out); code != 0 { // the problem is gone with the answer
		t.Errorf("exit code %d: %s", code, &out)
	}
	r.waitFor("bad", "a")
	r.fleet("delivered", "")
	r.write("edited.yaml", r.route("edited", "b"))
	r.waitFor("edited", "b")
	canary.leave()
	r.stop()
	r.must(writeFile(filepath.Join(r.state, "fleets"), []byte("no fleets")))
	r.start()
	r.connected()
	r.write("edited.yaml", r.route("edited", "a"))
	r.waitFor("edited", "a")
}
