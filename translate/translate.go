package translate

import (
	"cmp"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Options are what translation depends on beside the objects.
type Options struct {
	// Bind are the IP addresses for Gateways that name none: all interfaces,
	// when empty 0.0.0.0.
	Bind []string
	// AddressPool has an address for each Gateway that names none, in place of
	// Bind; it is not valid for no pool.
	AddressPool netip.Prefix
	// Guard says which endpoints must not be used.
	Guard backend.Guard
	// WildcardNamespace is the word that stands for all namespaces in a label
	// reference (EP-10943); "all" when empty.
	WildcardNamespace string
	// Weighted turns the weights of routes on (EP-11466).
	Weighted bool
	// WeightScope says what the weight of a route is compared with; VirtualHost when
	// empty. It means nothing while weights are off.
	WeightScope WeightScope
	// TrustedHops is ir.Settings.TrustedHops of all ports.
	TrustedHops uint32
	// MaxDepth is how many routes may stand above each other; 32 when 0.
	MaxDepth int
	// MaxRoutes bounds the pairs of a rule and a candidate that are looked at
	// for one host; 200,000 when 0. A folder of few routes has a lower bound.
	MaxRoutes int
	// MaxCopies bounds what copies of matches in tables cost Envoy beyond four for each match, in
	// plain routes (docs/scale.md#copies-of-a-match); 50,000 when 0.
	MaxCopies int
	// SystemCA is where Envoy finds the certificates of authorities of the system that
	// it runs on; those of Debian, Alpine and Envoy's images when empty.
	SystemCA string
	// ExclusivePorts has Envoy refuse a port that another process listens on. Without
	// it two Envoys of one user share the port, and each gets a part of the requests.
	ExclusivePorts bool
}

// WeightScope says which rules the weight of a route goes before.
type WeightScope string

// The scopes. The first is that of EP-11466, and kgateway's.
const (
	VirtualHost WeightScope = "virtual-host" // all of lower weight for the same host
	Siblings    WeightScope = "siblings"     // those below the same match of a delegating rule
)

// maxDepth is the default of Options.MaxDepth (docs/design/routes.md).
const maxDepth = 32

// SystemCA is the default of Options.SystemCA.
const SystemCA = "/etc/ssl/certs/ca-certificates.crt"

// maxRoutes is the default of Options.MaxRoutes (docs/design/routes.md).
const maxRoutes = 200_000

// Translator keeps what was translated, so that a Change costs what it changes.
// It has one owner.
type Translator struct {
	engine   *memo.Engine
	in       *inputs
	net      *network
	listener *memo.Sink[portKey, *portOut]
	infra    *memo.Sink[manifest.Key, *ir.Infra]
	routes   *memo.Sink[chainKey, routesOut]
	clusters *memo.Sink[useKey, *clusterOut]
	secrets  *memo.Sink[secretUse, *secretOut]
	trust    *memo.Sink[trustUse, *trustOut]
	status   []*memo.Sink[manifest.Key, *status.Update]
	last     lastView
	undo     []former
}

// New returns a Translator that knows no objects.
func New(options Options) *Translator {
	if len(options.Bind) == 0 {
		options.Bind = []string{"0.0.0.0"}
	}
	options.WildcardNamespace = cmp.Or(options.WildcardNamespace, route.AllNamespaces)
	options.MaxDepth = cmp.Or(options.MaxDepth, maxDepth)
	options.MaxRoutes = cmp.Or(options.MaxRoutes, maxRoutes)
	options.SystemCA = cmp.Or(options.SystemCA, SystemCA)
	options.MaxCopies = cmp.Or(options.MaxCopies, maxCopies)
	engine := memo.New()
	in := newInputs(engine)
	net := newNetwork(engine, in, options)
	t := &Translator{
		engine: engine, in: in, net: net,
		listener: memo.NewSink(net.ports.listener),
		infra:    memo.NewSink(net.gateways.infra),
		routes:   memo.NewSink(net.routeConfigs.routeConfig),
		clusters: memo.NewSink(net.clusters.push),
		secrets:  memo.NewSink(net.secrets.pushSecret),
		trust:    memo.NewSink(net.trusts.pushTrust),
	}
	for _, rule := range net.statuses() {
		t.status = append(t.status, memo.NewSink(rule))
	}
	t.last.watch(net)
	return t
}

// Apply takes in a Change and returns what it made of the configuration. The
// state after several Changes is what one Change with all objects would have
// led to (docs/design/flow.md).
func (t *Translator) Apply(change store.Change) Result {
	_ = t.Take(nil, change) // it is not interrupted
	return Result{
		Delta:    t.delta(),
		Infra:    t.infras(),
		Status:   t.statuses(),
		Problems: t.last.allProblems(),
		View:     t.last.view(),

		Certificates: t.last.inUse,
		Authorities:  t.last.trusted,
	}
}

// delta drains the sinks of resources.
func (t *Translator) delta() []xds.Update {
	var out []xds.Update
	for key, change := range t.listener.Drain() {
		out = appendUpdate(out, key.Gateway, resourceOf(change.Old), resourceOf(change.New))
	}
	for key, change := range t.routes.Drain() {
		if change.Had && change.Has && sameRoutes(change.Old, change.New) {
			continue
		}
		out = append(out, xds.Update{
			Gateway: key.Gateway, Type: cmp.Or(change.Old.Type, change.New.Type), Name: key.name(), Resource: optional(change.New.Resource, change.Has),
		})
	}
	for key, change := range t.clusters.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.cluster(), change.New.cluster())
		out = appendUpdate(out, key.Gateway, change.Old.assignment(), change.New.assignment())
	}
	for key, change := range t.secrets.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.resource(), change.New.resource())
	}
	for key, change := range t.trust.Drain() {
		out = appendUpdate(out, key.Gateway, change.Old.resource(), change.New.resource())
	}
	slices.SortFunc(out, func(a, b xds.Update) int {
		return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func optional(r xds.Resource, has bool) *xds.Resource {
	if !has {
		return nil
	}
	return &r
}

// appendUpdate adds the step from old to changed, unless they are equal. A listener
// whose port changes its protocol has another name.
func appendUpdate(out []xds.Update, gateway string, old, changed *xds.Resource) []xds.Update {
	if old != nil && changed != nil && old.Name != changed.Name {
		out = append(out, xds.Update{Gateway: gateway, Type: old.Type, Name: old.Name})
	}
	switch {
	case changed != nil && (old == nil || old.Version != changed.Version):
		return append(out, xds.Update{Gateway: gateway, Type: changed.Type, Name: changed.Name, Resource: changed})
	case changed == nil && old != nil:
		return append(out, xds.Update{Gateway: gateway, Type: old.Type, Name: old.Name})
	}
	return out
}

// statuses drains the sinks of statuses. An object that has none, such as the
// Gateway of another controller, has a nil value. One that changed and changed
// back while the rules ran is no news. An object that became sound, or ceased to be,
// goes from one sink to another: what it has now counts.
func (t *Translator) statuses() []status.Update {
	changed := map[manifest.Key]status.Update{}
	for _, sink := range t.status {
		for key, change := range sink.Drain() {
			_, known := changed[key]
			switch {
			case reflect.DeepEqual(change.Old, change.New):
			case change.New != nil:
				changed[key] = *change.New
			case change.Old != nil && !known:
				changed[key] = status.Update{Key: key}
			}
		}
	}
	out := slices.Collect(maps.Values(changed))
	slices.SortFunc(out, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	return out
}

// lastView follows the folds that gather everything, so that a Result can show
// the state at its time.
type lastView struct {
	hosts    memo.Ordered[*hostOut]
	ports    memo.Ordered[*portOut]
	clusters memo.Ordered[*clusterOut]
	policies memo.Ordered[*ir.Policy]
	bounds   memo.Ordered[listen.Bound]
	sets     memo.Ordered[problemSet]
	problems []manifest.Problem
	stale    bool

	inUse   []ir.Certificate
	trusted []ir.Authorities
}

func (l *lastView) watch(net *network) {
	memo.Watch(net.views.allHosts, func(_ struct{}, v memo.Ordered[*hostOut]) { l.hosts = v })
	memo.Watch(net.views.allPorts, func(_ struct{}, v memo.Ordered[*portOut]) { l.ports = v })
	memo.Watch(net.policyViews.allPolicies, func(_ struct{}, v memo.Ordered[*ir.Policy]) { l.policies = v })
	memo.Watch(net.namespaces.allBounds, func(_ struct{}, v memo.Ordered[listen.Bound]) { l.bounds = v })
	memo.Watch(net.views.allUsed, func(_ struct{}, v memo.Ordered[*clusterOut]) { l.clusters = v })
	memo.Watch(net.secrets.allSecrets, l.setSecrets)
	memo.Watch(net.trusts.allTrusts, l.setTrusts)
	memo.Watch(net.problems, func(_ struct{}, v memo.Ordered[problemSet]) { l.sets, l.stale = v, true })
}

// allProblems joins the sets; it walks them only after one changed, and returns the list
// of before where the problems are the same.
func (l *lastView) allProblems() []manifest.Problem {
	if l.stale {
		var all []manifest.Problem
		for set := range l.sets.All() {
			all = append(all, set.list...)
		}
		manifest.SortProblems(all)
		if all = slices.Compact(all); !slices.Equal(all, l.problems) {
			l.problems = slices.Clip(all)
		}
		l.stale = false
	}
	return l.problems
}

// setSecrets lists the certificates in use, once they changed.
func (l *lastView) setSecrets(_ struct{}, secrets memo.Ordered[*secretOut]) {
	l.inUse = make([]ir.Certificate, 0, secrets.Len())
	for s := range secrets.All() {
		l.inUse = append(l.inUse, s.Certificate)
	}
}

// setTrusts lists the objects whose authorities are trusted, once they changed. One may
// stand in several trusts.
func (l *lastView) setTrusts(_ struct{}, trusts memo.Ordered[*trustOut]) {
	l.trusted = nil
	for t := range trusts.All() {
		l.trusted = append(l.trusted, t.Authorities...)
	}
	slices.SortFunc(l.trusted, func(a, b ir.Authorities) int { return manifest.CompareKeys(a.Object, b.Object) })
	l.trusted = slices.Compact(l.trusted)
}

// view returns a function that builds the View of this moment once.
func (l *lastView) view() func() *ir.View {
	now := *l
	now.sets, now.problems = memo.Ordered[problemSet]{}, nil // no View shows them
	return sync.OnceValue(now.build)
}
