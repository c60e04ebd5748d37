package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/xds"
)

// members is a folder with two listeners: a route of "open" never needs a token, one of "members" needs
// that of the extension which its policy names.
type members struct {
	*running
	store      *store.Store
	translator *translate.Translator
	files      map[string][]byte
	tables     map[string]string // listener → name
	edits      int
	mu         sync.Mutex // held while something is published
	latest     translate.Result
}

func newMembers(t *testing.T) *members {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &members{store: s, translator: translate.New(translate.Options{}), files: map[string][]byte{}, tables: map[string]string{}}
	m.running = start(t, server.Options{Quarantine: func(set translate.Quarantine) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.translator.Quarantine(set)
		m.latest = m.translator.Apply(store.Change{})
		m.Publish(m.latest)
	}})
	m.files["gateway.yaml"] = []byte(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: open, port: 8080, protocol: HTTP}, {name: members, port: 8081, protocol: HTTP}]
`)
	for _, name := range []string{"idp", "other"} {
		m.files[name+".yaml"] = fmt.Appendf(nil, `apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: %s}
spec: {jwt: {providers: [{name: corp, issuer: https://idp.test, audiences: [shop], jwks: {local: {inline: '%s'}}}]}}
`, name, newIssuer(name[:1]).keys())
	}
	for _, update := range m.edit("") {
		if listener := map[bool]string{true: "members", false: "open"}[strings.Contains(update.Name, "8081")]; update.Type == rds {
			m.tables[listener] = update.Name
		}
	}
	if len(m.tables) != 2 {
		t.Fatalf("the tables are %v", m.tables)
	}
	return m
}

// edit changes both routes, and has the members' policy name an extension; it has no policy for "".
func (m *members) edit(extension string) []xds.Update {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.edits++
	for _, listener := range []string{"open", "members"} {
		m.files[listener+".yaml"] = fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s}
spec:
  parentRefs: [{name: eg, sectionName: %[1]s}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: edit%[2]d.test}}]}]
`, listener, m.edits)
	}
	delete(m.files, "policy.yaml")
	if extension != "" {
		m.files["policy.yaml"] = fmt.Appendf(nil, `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: members}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: members}]
  jwtAuth: {extensionRef: {name: %s}}
`, extension)
	}
	m.latest = m.translator.Apply(m.store.Apply(cases.Tree(m.files)))
	m.Publish(m.latest)
	return m.latest.Delta
}

// envoy connects as an Envoy does that has both listeners, and with what is there so far.
func (m *members) envoy(filter bool) *client {
	m.t.Helper()
	c := m.connect("")
	node := oldNode("e", 40)
	node.Cluster = "default/eg"
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: node})
	c.ack(c.next())
	c.ask(lds)
	c.ack(c.next())
	if filter {
		c.ask(xds.FilterType, xds.JWTFilter)
		m.filter(c, "")
	}
	c.ask(rds, m.tables["open"], m.tables["members"])
	return c
}

// filter acknowledges a filter, which is to have these requirements.
func (m *members) filter(c *client, want string) {
	m.t.Helper()
	c.ack(m.wantFilter(c, want))
}

func (m *members) wantFilter(c *client, want string) *discoveryv3.DeltaDiscoveryResponse {
	m.t.Helper()
	response := c.next()
	var names []string
	if len(response.Resources) == 1 && response.TypeUrl == xds.FilterType {
		for _, r := range xds.Requirements(response.Resources[0].Resource.Value) {
			names = append(names, strings.TrimPrefix(r.Requirement, "default/"))
		}
	}
	if got := strings.Join(names, " "); response.TypeUrl != xds.FilterType || got != want {
		m.t.Fatalf("got %s with %q, want a filter with %q", show(response), got, want)
	}
	return response
}

// takeTables acknowledges the next tables, which are to be those of these listeners in the edit that is
// now, and only them. requirement is the one that the members' table is to name.
func (m *members) takeTables(c *client, requirement string, listeners ...string) {
	m.t.Helper()
	var got []string
	for range listeners {
		if len(got) == len(listeners) {
			break
		}
		response := c.next()
		for _, r := range response.Resources {
			i := slices.IndexFunc(listeners, func(l string) bool { return m.tables[l] == r.Name })
			if response.TypeUrl != rds || i < 0 {
				m.t.Fatalf("got %s, want tables of %v", show(response), listeners)
			}
			got = append(got, listeners[i])
			body := string(r.Resource.Value)
			if !strings.Contains(body, fmt.Sprintf("edit%d.test", m.edits)) {
				m.t.Fatalf("the table of %s is not that of edit %d", listeners[i], m.edits)
			}
			if named := listeners[i] == "members" && requirement != ""; xds.NamesRequirement(r.Resource.Value) != named || named && !strings.Contains(body, "default/"+requirement) {
				m.t.Fatalf("the table of %s does not name %q, or names another", listeners[i], requirement)
			}
		}
		c.ack(response)
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(listeners))) {
		m.t.Fatalf("got tables of %v, want %v", got, listeners)
	}
}

// An Envoy has the requirement of a route before the route, when a policy comes and when it names
// another; and loses it after the route, when another is named and when the policy goes. Other tables do not
// wait.
func TestAFilterGoesBeforeItsRoutes(t *testing.T) {
	m := newMembers(t)
	c := m.envoy(true)
	m.takeTables(c, "", "open", "members")

	m.edit("idp")
	filter := m.wantFilter(c, "idp")
	m.takeTables(c, "", "open")
	m.edit("idp")
	m.takeTables(c, "", "open") // and not the members', which is due since the edit before
	c.ack(filter)
	m.takeTables(c, "idp", "members")

	m.edit("other")
	filter = m.wantFilter(c, "idp other")
	m.takeTables(c, "", "open")
	m.edit("other")
	m.takeTables(c, "", "open")
	c.ack(filter)
	m.takeTables(c, "other", "members")
	m.filter(c, "other")

	m.edit("")
	m.takeTables(c, "", "open", "members")
	m.filter(c, "")
}

// An Envoy that never asks for the filter, because it rejected the listeners that have it, is sent
// tables that name no requirement, and never one that does.
func TestAnEnvoyWithoutTheFilterIsServedWhatNeedsNone(t *testing.T) {
	m := newMembers(t)
	m.edit("idp")
	c := m.envoy(false)
	m.takeTables(c, "", "open")
	m.edit("idp")
	m.takeTables(c, "", "open")
	m.edit("")
	m.takeTables(c, "", "open", "members")
	m.edit("idp")
	m.takeTables(c, "", "open")
	c.ask(xds.FilterType, xds.JWTFilter)
	m.filter(c, "idp")
	m.takeTables(c, "idp", "members")
}

// Providers that an Envoy rejects are a problem of their extension, with Envoy's words. Its routes
// answer 403, and explain says so; others are served and edited. When the extension changes, it is tried again.
func TestRejectedProvidersAreAProblemOfTheirExtension(t *testing.T) {
	m := newMembers(t)
	c := m.envoy(true)
	m.takeTables(c, "", "open", "members")
	m.edit("idp")
	c.nack(m.wantFilter(c, "idp"), "Provider 'default/idp/corp' in jwt_authn config has invalid local jwks: no")
	m.takeTables(c, "", "open")
	m.takeTables(c, "idp", "members")
	answer := func(port uint32) explain.Outcome {
		return explain.Request(m.latest.View(), explain.Query{Scheme: "http", Host: "a.test", Port: port, Method: "GET", Path: "/"}).Outcome
	}
	rejected := func() (found []manifest.Problem) {
		for _, problem := range m.latest.Problems {
			if problem.Code == xds.RejectedCode {
				found = append(found, problem)
			}
		}
		return found
	}
	settle := func(problems int) {
		t.Helper()
		envoytest.Wait(t, fmt.Sprintf("%d problems", problems), func() error {
			m.mu.Lock()
			defer m.mu.Unlock()
			if got := rejected(); len(got) != problems {
				return fmt.Errorf("there are %v", got)
			}
			return nil
		})
	}
	settle(1)
	m.mu.Lock()
	problem := rejected()[0]
	if problem.Object != (manifest.Key{Group: api.Group, Kind: api.KindGatewayExtension, Namespace: "default", Name: "idp"}) || !strings.Contains(problem.Message, "invalid local jwks: no") {
		t.Errorf("the problem is %+v", problem)
	}
	if got := answer(8081); got.Status != http.StatusForbidden || !strings.Contains(got.Why, "invalid local jwks: no") {
		t.Errorf("a route of the extension answers %+v", got)
	}
	if got := answer(8080); got.Status != http.StatusFound {
		t.Errorf("another route answers %+v", got)
	}
	m.files["idp.yaml"] = bytes.Replace(m.files["idp.yaml"], []byte("[shop]"), []byte("[other]"), 1)
	m.mu.Unlock()
	m.edit("idp")
	filter := m.wantFilter(c, "idp")
	m.takeTables(c, "", "open")
	c.ack(filter)
	m.takeTables(c, "idp", "members")
	settle(0)
}
