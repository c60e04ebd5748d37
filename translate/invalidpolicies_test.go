package translate_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/xds"
)

// policySort is a kind of policy in TestInvalidPoliciesDoWhatIsSaid: a valid one, up to its targets, and the kind of the
// targets. An unserved one is of a kind that gatefold only knows.
type policySort struct {
	apiVersion, kind string
	spec             string // all but the targets, valid
	target           string // the kind of targets
	labels           bool   // the API has targetSelectors
	unserved         bool
}

func policySorts() []policySort {
	const kgateway, gateway = "gateway.kgateway.dev/v1alpha1", "gateway.networking.k8s.io/v1"
	traffic := func(target string) policySort {
		spec := "csrf: {percentageEnabled: 100}"
		if strings.HasPrefix(target, "TCP") || strings.HasPrefix(target, "UDP") || strings.HasPrefix(target, "TLS") {
			spec = "acl: {defaultAction: deny}"
		}
		return policySort{apiVersion: kgateway, kind: "TrafficPolicy", spec: spec, target: target, labels: true}
	}
	tls := "validation: {hostname: a.example, wellKnownCACertificates: System}"
	out := []policySort{
		{apiVersion: gateway, kind: "BackendTLSPolicy", spec: tls, target: "Service"},
		{apiVersion: gateway, kind: "BackendTLSPolicy", spec: tls, target: "Backend"},
		{apiVersion: kgateway, kind: "BackendConfigPolicy", spec: "connectTimeout: 1s", target: "Service", labels: true},
		{apiVersion: kgateway, kind: "BackendConfigPolicy", spec: "connectTimeout: 1s", target: "Backend", labels: true},
		{apiVersion: kgateway, kind: "HTTPListenerPolicy", spec: "accessLog: []", target: "Gateway", unserved: true},
		{apiVersion: kgateway, kind: "ListenerPolicy", spec: "default: {}", target: "Gateway", unserved: true},
		{apiVersion: "gateway.envoyproxy.io/v1alpha1", kind: "BackendTrafficPolicy", spec: "timeout: {}", target: "HTTPRoute", unserved: true},
		{apiVersion: "gateway.envoyproxy.io/v1alpha1", kind: "SecurityPolicy", spec: "cors: {}", target: "HTTPRoute", unserved: true},
	}
	for _, target := range []string{"HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute", "Gateway", "ListenerSet"} {
		out = append(out, traffic(target))
	}
	return out
}

// ref is a targetRef to an object.
func (s policySort) ref(name string) string {
	return fmt.Sprintf("{group: %q, kind: %s, name: %s}", groupOf(s.target), s.target, name)
}

func groupOf(kind string) string {
	return map[string]string{"Service": "", "Backend": "gateway.kgateway.dev"}[kind] +
		map[bool]string{true: "gateway.networking.k8s.io"}[kind != "Service" && kind != "Backend"]
}

// text is a policy with the given fields beside the valid ones.
func (s policySort) text(targets string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: p}\nspec:\n  %s\n  %s\n", s.apiVersion, s.kind, s.spec, targets)
}

// policyReason is a mistake in the targets of a policy. The object t is the target, t and x have the label team: x, and u
// has none. The field closes has those that are closed without an earlier version: "" if none can be read.
type policyReason struct{ name, targets, closes string }

func policyReasons(s policySort) []policyReason {
	kind := s.target
	selectors := func(labels string) string {
		return fmt.Sprintf("targetSelectors: [{group: %q, kind: %s, matchLabels: %s}]", groupOf(kind), kind, labels)
	}
	many := []string{s.ref("t")}
	for i := range 1100 {
		many = append(many, s.ref(fmt.Sprintf("r%d", i)))
	}
	return []policyReason{
		{"an unknown field", "oops: 1\n  targetRefs: [" + s.ref("t") + "]", "t"},
		{"selectors and an unknown field", "oops: 1\n  " + selectors("{team: x}"), "tx"},
		{"labels of a wrong type", selectors("{team: [x]}"), "tx"},
		{"labels that are a list", selectors("[team]"), "txu"},
		{"labels that are a number", selectors("5"), "txu"},
		{"labels and expressions", fmt.Sprintf("targetSelectors: [{group: %q, kind: %s, matchExpressions: [{key: team, operator: Exists}]}]", groupOf(kind), kind), "txu"},
		{"selectors among refs", fmt.Sprintf("targetRefs: [{kind: %s, matchLabels: {team: x}}]", kind), "tx"},
		{"selectors that are text", "targetSelectors: x", "x"},
		{"selectors that are a number", "targetSelectors: 5", ""},
		{"refs that are a number", "targetRefs: 5", ""},
		{"a ref that is a number", "targetRefs: [5]", ""},
		{"a ref beside a number", "targetRefs: [5, " + s.ref("t") + "]", "t"},
		{"a ref that is no list", "targetRefs: " + s.ref("t"), "t"},
		{"refs missing", "oops: 1", ""},
		{"refs empty", "targetRefs: []\n  oops: 1", ""},
		{"a kind of others", "oops: 1\n  targetRefs: [{group: apps, kind: Deployment, name: t}]", "t"},
		{"another namespace", "oops: 1\n  targetRefs: [{kind: " + kind + ", name: t, namespace: other}]", "t"},
		{"a section that is a list", "targetRefs: [{kind: " + kind + ", name: t, sectionName: [s]}]", "t"},
		{"a section that is there", "oops: 1\n  targetRefs: [{kind: " + kind + ", name: t, sectionName: s}]", "t"},
		{"a section that is not there", "oops: 1\n  targetRefs: [{kind: " + kind + ", name: t, sectionName: none}]", "t"},
		{"a target that is not there", "oops: 1\n  targetRefs: [" + s.ref("none") + "]", ""},
		{"too many targets", "oops: 1\n  targetRefs: [" + strings.Join(many, ", ") + "]", "txu"},
	}
}

// policyProbe is a request whose answer depends on the objects of a path, from Gateway to backend.
type policyProbe struct {
	query explain.Query
	path  []manifest.Key
}

// policedFolder has for each kind of target the objects t, x and u, and requests to each.
func policedFolder() (folder string, probes []policyProbe) {
	var b strings.Builder
	write := func(apiVersion, kind, name, spec string) manifest.Key {
		labels := ""
		if name == "t" || name == "x" {
			labels = ", labels: {team: x}"
		}
		fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s%s}\nspec: %s\n", apiVersion, kind, name, labels, spec)
		return manifest.Key{Group: groupOf(kind), Kind: kind, Namespace: "default", Name: name}
	}
	const gateway, static = "gateway.networking.k8s.io/v1", "{static: {hosts: [{host: 127.9.0.1, port: 3000}]}}"
	const toPlain = "backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: plain}]"
	probe := func(scheme, host string, port uint32, path ...manifest.Key) {
		probes = append(probes, policyProbe{explain.Query{Scheme: scheme, Host: host, Port: port, Method: "GET", Path: "/", Headers: map[string][]string{}}, path})
	}
	plain := write("gateway.kgateway.dev/v1alpha1", "Backend", "plain", static)
	listeners := "{name: http, port: 8080, protocol: HTTP}"
	for i := range []string{"t", "x", "u"} {
		listeners += fmt.Sprintf(", {name: tcp%d, port: %d, protocol: TCP}, {name: udp%[1]d, port: %[3]d, protocol: UDP}, {name: tls%[1]d, port: %[4]d, protocol: TLS, tls: {mode: Passthrough}}", i, 9000+i, 9100+i, 9200+i)
	}
	g := write(gateway, "Gateway", "g", "{gatewayClassName: gatefold, allowedListeners: {namespaces: {from: Same}}, listeners: ["+listeners+"]}")
	for i, name := range []string{"t", "x", "u"} {
		parent := func(of, section string) string { return fmt.Sprintf("parentRefs: [{kind: %s, name: %s}]", of, section) }
		http := func(route, parents, rule string) manifest.Key {
			return write(gateway, "HTTPRoute", route, fmt.Sprintf("{%s, hostnames: [%s.example], rules: [{name: s, %s}]}", parents, route, rule))
		}
		probe("http", name+".example", 8080, g, http(name, parent("Gateway", "g"), toPlain), plain)
		calls := write(gateway, "GRPCRoute", name, fmt.Sprintf("{%s, hostnames: [grpc-%s.example], rules: [{name: s, %s}]}", parent("Gateway", "g"), name, toPlain))
		probe("http", "grpc-"+name+".example", 8080, g, calls, plain)
		own := write(gateway, "Gateway", name, fmt.Sprintf("{gatewayClassName: gatefold, listeners: [{name: s, port: %d, protocol: HTTP}]}", 8081+i))
		probe("http", "on-"+name+".example", uint32(8081+i), own, http("on-"+name, parent("Gateway", name), toPlain), plain)
		set := write(gateway, "ListenerSet", name, fmt.Sprintf("{parentRef: {name: g}, listeners: [{name: s, port: %d, protocol: HTTP}]}", 8091+i))
		probe("http", "in-"+name+".example", uint32(8091+i), g, set, http("in-"+name, parent("ListenerSet", name), toPlain), plain)
		backend := write("gateway.kgateway.dev/v1alpha1", "Backend", name, static)
		probe("http", "backend-"+name+".example", 8080, g, http("backend-"+name, parent("Gateway", "g"), "backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: "+name+"}]"), backend)
		service := write("v1", "Service", name, "{ports: [{name: s, port: 80}]}")
		fmt.Fprintf(&b, "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %s, labels: {kubernetes.io/service-name: %[1]s}}\naddressType: IPv4\nports: [{name: s, port: 3000}]\nendpoints: [{addresses: [127.9.0.1]}]\n", name)
		probe("http", "service-"+name+".example", 8080, g, http("service-"+name, parent("Gateway", "g"), "backendRefs: [{name: "+name+", port: 80}]"), service)
		for n, scheme := range []string{"tcp", "udp", "tls"} {
			hostnames := map[bool]string{true: "hostnames: [a.example], "}[scheme == "tls"]
			stream := write(gateway, strings.ToUpper(scheme)+"Route", name, fmt.Sprintf("{%sparentRefs: [{name: g, sectionName: %s%d}], rules: [{name: s, %s}]}", hostnames, scheme, i, toPlain))
			probe(scheme, "a.example", uint32(9000+100*n+i), g, stream, plain)
		}
	}
	return b.String(), probes
}

// answer returns what a probe gets: a status, "serves", or "is closed" for what has no status.
func (p policyProbe) answer(w *world) string {
	if p.query.ForConnection() {
		for _, share := range explain.Connection(w.view(), p.query).Backends {
			if w.view().Clusters[share.Target.Cluster].Closed == "" {
				return "serves"
			}
		}
		return "is closed"
	}
	out := explain.Request(w.view(), p.query).Outcome
	if out.Status == 0 {
		return "serves"
	}
	return fmt.Sprint(out.Status)
}

// policySays is what messages say of one target, or of all of a kind with some labels.
type policySays struct{ policy, kind, name, section, labels, effect string }

// saidOf reads the effects in the messages of problems.
func saidOf(problems []manifest.Problem) (all []policySays) {
	effect := regexp.MustCompile(`([^;:]+) (answers? \w+|closes? connections|drops? datagrams) (?:until it is fixed|because of it)`)
	target := regexp.MustCompile(`^(?:(\w+) default/([^#]+)(?:#(.*))?|each (\w+) in namespace default(?: with (.*))?)$`)
	for _, p := range problems {
		for _, found := range effect.FindAllStringSubmatch(p.Message, -1) {
			for name := range strings.SplitSeq(strings.TrimSpace(found[1]), ", ") {
				if words := target.FindStringSubmatch(name); words != nil {
					all = append(all, policySays{p.Object.Kind, words[1] + words[4], words[2], words[3], words[5], found[2]})
				} else {
					all = append(all, policySays{effect: "cannot be read: " + name})
				}
			}
		}
	}
	return all
}

// wanted returns the answer of a probe by what is said of the objects on its path.
func (p policyProbe) wanted(said []policySays) string {
	for _, object := range p.path {
		for _, s := range said {
			labelled := object.Name == "t" || object.Name == "x"
			if s.policy == "BackendTLSPolicy" && (p.query.Scheme == "udp" || p.query.Scheme == "tls") {
				continue // for datagrams and for TLS that passes through there is no such policy, valid or not
			}
			if s.kind != object.Kind || s.name != "" && s.name != object.Name || s.name == "" && s.labels != "" && !labelled {
				continue
			}
			switch _, status, _ := strings.Cut(s.effect, " "); {
			case p.query.ForConnection():
				return "is closed"
			case status == "UNAVAILABLE", slices.ContainsFunc(p.path, func(k manifest.Key) bool { return k.Kind == "GRPCRoute" }):
				return "503"
			default:
				return status
			}
		}
	}
	return "serves"
}

// TestInvalidPoliciesDoWhatIsSaid gives each kind of policy each mistake in its targets: what the problems say of
// requests is what explain answers, and what stands in the table. Without an earlier version the targets that can be
// read are closed. With one, that one stays in force.
func TestInvalidPoliciesDoWhatIsSaid(t *testing.T) {
	folder, probes := policedFolder()
	w := newWorld(t)
	apply := func(policy string) []manifest.Problem {
		return w.apply(tree(map[string]string{"a.yaml": folder, "p.yaml": policy}))
	}
	if problems := apply("# none\n"); len(problems) > 0 {
		t.Fatal(problems)
	}
	open := maps.Clone(w.resources)
	sends := func(resources map[string]xds.Update) bool {
		return maps.EqualFunc(w.resources, resources, sameResource)
	}
	for _, s := range policySorts() {
		for _, reason := range policyReasons(s) {
			if reason.name == "too many targets" && s.kind == "TrafficPolicy" && s.target != "HTTPRoute" {
				continue // it is the same for all of its targets, and takes long
			}
			t.Run(s.kind+" of "+s.target+": "+reason.name, func(t *testing.T) {
				invalid, valid := s.text(reason.targets), s.text("targetRefs: ["+s.ref("t")+"]")
				cold := newWorld(t)
				problems := cold.apply(tree(map[string]string{"a.yaml": folder, "p.yaml": invalid}))
				guessed := hasMessage(problems, "its targets cannot be read") || hasMessage(problems, "the text may be a policy for what it names") || hasMessage(problems, "a target of it cannot be read") // what its words name is closed, and the message lists the first
				if !guessed {
					checkSaid(t, cold, probes, problems)
				}
				if !s.unserved && (!guessed || s.kind != "BackendConfigPolicy") { // which protects nothing
					checkClosed(t, cold, probes, closedTargets{s.target, reason.closes, guessed})
				}
				apply(valid)
				before := maps.Clone(w.resources)
				switch problems := apply(invalid); {
				case s.unserved:
					checkSaid(t, w, probes, problems)
				case maps.EqualFunc(before, open, sameResource) || !sends(before) || !hasMessage(problems, "its last valid version is still in force"):
					t.Errorf("the version before does not stay: %v", problems)
				}
				if apply("# none\n"); !sends(open) {
					t.Error("what is closed does not open")
				}
			})
		}
	}
}

// checkSaid compares answers with what is said.
func checkSaid(t *testing.T, w *world, probes []policyProbe, problems []manifest.Problem) {
	t.Helper()
	said := saidOf(problems)
	for _, p := range probes {
		if got, want := p.answer(w), p.wanted(said); got != want {
			t.Errorf("%s of %v: %s, and the problems say %s: %v", p.query.Host, p.path, got, want, problems)
		}
	}
}

// closedTargets are the names of the objects of a kind that must be closed. If more is true, others may be, too.
type closedTargets struct {
	kind, names string
	more        bool
}

// checkClosed compares answers with what must be closed.
func checkClosed(t *testing.T, w *world, probes []policyProbe, closes closedTargets) {
	t.Helper()
	for _, p := range probes {
		at := slices.IndexFunc(p.path, func(k manifest.Key) bool { return k.Kind == closes.kind && len(k.Name) == 1 && k.Name != "g" })
		if at < 0 || closes.more && !strings.Contains(closes.names, p.path[at].Name) {
			continue
		}
		if strings.Contains(closes.names, p.path[at].Name) != (p.answer(w) != "serves") {
			t.Errorf("%v: %s", p.path[at], p.answer(w))
		}
	}
}

func hasMessage(problems []manifest.Problem, words string) bool {
	return slices.ContainsFunc(problems, func(p manifest.Problem) bool { return strings.Contains(p.Message, words) })
}
